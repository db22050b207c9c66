# The suites beside those of `make test`, and what builds and looks at the site and the pages. The Makefile includes this.

##@ The parts that CI runs side by side

.PHONY: test-argocd
test-argocd: demo-argocd quickstart e2e-quick e2e-beside-quick ## Some rollouts of every kind on the real Argo CD

.PHONY: test-versions
test-versions: e2e-oldest e2e-newest ## A few of them on the oldest and on the newest Argo CD

.PHONY: test-faults
test-faults: faults-quick soak-quick bench-quick ## The short forms of faults, soak and benchmark

.PHONY: test-random
test-random: properties simulate-quick fuzz-quick ## Everything that draws at random, for some minutes

.PHONY: test-release
test-release: verify pages extension-test release-rehearsal ## The modules, the console blocks of the pages, and the release up to a registry on this machine

##@ The suites of these parts

.PHONY: generated
generated: $(BIN)/helm ## Check that the generated files are as `make generate` writes them
	go run ./test/generate --helm $(BIN)/helm --check

.PHONY: quickstart
quickstart: tools argocd-tools $(BIN)/kubectl ## The steps of docs/quickstart.md that need no container engine, on the real Argo CD
	go test -count=1 -timeout 10m -v ./test/quickstart

.PHONY: e2e-quick
e2e-quick: tools argocd-tools $(BIN)/helm ## Some rollouts through the real Argo CD, without stepgate and with it
	$(E2E) TestRollouts -argocd $(ARGOCD_VERSION) -quick -modes off,on -busy 10s $(E2E_PARTS) $(E2E_FLAGS)

.PHONY: e2e-beside-quick
e2e-beside-quick: tools argocd-tools ## Some rollouts beside other programs that write Applications, off and on
	$(E2E) TestBeside -argocd $(ARGOCD_VERSION) -quick $(E2E_FLAGS)

.PHONY: e2e-oldest
e2e-oldest: tools $(BIN)/argocd-$(ARGOCD_OLDEST) ## A few of these rollouts through the oldest Argo CD
	$(E2E) TestRollouts -argocd $(ARGOCD_OLDEST) -quick -modes off,on -scenarios $(OLDEST_SCENARIOS) -liveness -automated -conditions $(E2E_FLAGS)

# Its ApplicationSet controller waits 30 s after each change, unless it is told not to.
.PHONY: e2e-newest
e2e-newest: tools $(BIN)/argocd-$(ARGOCD_NEWEST) ## Four of these rollouts through the newest Argo CD
	$(E2E) TestRollouts -argocd $(ARGOCD_NEWEST) -quick -modes off,on -scenarios $(OLDEST_SCENARIOS) -refresh-grace-period-seconds 0 $(E2E_FLAGS)

.PHONY: faults-quick
faults-quick: FAULTS_FLAGS += -short -skip 'F15_|F16_|F18_|F20_'
faults-quick: faults ## The faults that take seconds, with fewer injections

.PHONY: soak-quick
soak-quick: tools ## Both soaks, short
	go test -count=1 -timeout 10m -v -short ./test/soak

.PHONY: bench-quick
bench-quick: tools $(BIN)/bench ## Every part of the benchmark once, small: does it run?
	@$(BIN)/bench --quick $(BENCH_FLAGS)
	go test -run '^$$' -bench . -benchtime 1x ./policy ./webhook/judge ./webhook/cluster ./cmd/audit ./cmd/simulate

.PHONY: properties
properties: ## The property tests with all their draws, and the commands with the race detector
	go test $(CONCURRENT) $(VIRTUAL:%=./%)
	CGO_ENABLED=1 go test -race $$(go list ./cmd/... | grep -v $(VIRTUAL:%=-e /%$$))

.PHONY: simulate-quick
simulate-quick: HISTORIES := 3000
simulate-quick: HISTORIES_36 := 1000
simulate-quick: CONDITIONS := 2000
simulate-quick: TRAINS := 300
simulate-quick: EVIDENCE := 500
simulate-quick: CHAINS := 300
simulate-quick: simulate ## A few thousand random rollouts, and whether they notice that parts of the rule are taken out
	go run ./test/simulation/control -parts $(CONTROL_QUICK)

.PHONY: fuzz-quick
fuzz-quick: FUZZTIME := 200x
fuzz-quick: FUZZ_PACKAGES := ./policy
fuzz-quick: fuzz ## The fuzz targets of the rule for a moment; the build of the others takes minutes

.PHONY: verify
verify: generated ## Check that every go.mod and go.sum is as go mod tidy leaves it, and that vulncheck finds what there is to find
	for module in . test/tools test/tools/*/; do (cd $$module && GOTOOLCHAIN=auto go mod tidy -diff); done
	go mod verify >/dev/null
	go test -count=1 ./test/vulncheck

.PHONY: extension-test
extension-test: tools argocd-tools ## The extension in the real argocd-server: log in, RBAC, /extensions.js, and what the proxy answers
	go test -count=1 -timeout 15m -v ./test/extension -skip 'InABrowser|TestManyApplications'

.PHONY: pages
pages: tools $(BIN)/helm $(BIN)/kubectl ## Run the console blocks of the pages from their text
	go test -count=1 -timeout 20m -v ./test/pages

.PHONY: release-rehearsal
release-rehearsal: PLATFORMS := linux/amd64
release-rehearsal: PLUGIN_PLATFORMS := linux/amd64
release-rehearsal: tools $(BIN)/kubectl ## Play the release on a registry of its own, look at what comes out, and install a release CANDIDATE from one folder
	PLATFORMS='$(PLATFORMS)' go test -count=1 -timeout 20m -v ./test/image ./test/plugin
	@$(MAKE) --no-print-directory release-candidate PLATFORMS='$(PLATFORMS)' PLUGIN_PLATFORMS='$(PLUGIN_PLATFORMS)'
	CANDIDATE_DIR=$(CANDIDATE_DIR) CANDIDATE=$(CANDIDATE) COMMIT=$(COMMIT) go test -count=1 -timeout 10m -v ./test/release

.PHONY: vulncheck
vulncheck: $(BIN)/govulncheck ## Look for known vulnerabilities in the code that stepgate calls; needs the network
	@$(BIN)/govulncheck -db $(VULNDB) $(VULNCHECK) || { code=$$?; \
		[ $$code = 3 ] || echo "vulncheck: govulncheck did not finish, and nothing was checked. It needs the network: it reads $(VULNDB)" >&2; exit $$code; }

# A suite of kubernetes-versions.
.PHONY: e2e-rollouts
e2e-rollouts: tools argocd-tools $(BIN)/helm
	$(E2E) TestRollouts -quick -modes off,on -automated -command-line $(E2E_FLAGS)

##@ The site (it needs Node 20 and npm, and a Chromium to look at it)

.PHONY: site
site: docs/node_modules/.package-lock.json ## Build the site from docs/ into bin/site; a dead link is an error
	@npm --prefix docs run --silent build

.PHONY: site-look
site-look: site ## Open each page of it in CHROMIUM, at 390 and 1280 columns; pictures go to bin/site-look
	@CHROMIUM='$(CHROMIUM)' npm --prefix docs run --silent look
	@npm --prefix docs run --silent control

##@ The dashboard's page (it needs Node 20 and npm, and a Chromium to look at it)

.PHONY: page
page: cmd/page/node_modules/.package-lock.json ## Build the page of `stepgate dashboard`, which is committed, from its sources
	@npm --prefix cmd/page run --silent check
	@npm --prefix cmd/page run --silent build

.PHONY: page-check
page-check: page ## Check that the page that is committed is what comes out
	@git diff --exit-code --stat -- cmd/page/built

.PHONY: dashboard-look
dashboard-look: tools test/browser/node_modules/.package-lock.json ## Open `stepgate dashboard` in CHROMIUM, on a real API server with a real stepgate
	CHROMIUM='$(CHROMIUM)' go test -count=1 -timeout 30m -v ./test/dashboard $(WRITE_RESULTS)

.PHONY: dashboard-argocd
dashboard-argocd: tools argocd-tools test/browser/node_modules/.package-lock.json ## Open `stepgate dashboard` in CHROMIUM while the real Argo CD rolls a commit out
	CHROMIUM='$(CHROMIUM)' $(E2E) TestDashboard -argocd $(ARGOCD_VERSION) $(E2E_FLAGS)

.PHONY: extension-look
extension-look: tools argocd-tools test/browser/node_modules/.package-lock.json test/extension/node_modules/.package-lock.json ## Open the extension that the real argocd-server serves in CHROMIUM, with React 16, 18 and 19
	CHROMIUM='$(CHROMIUM)' go test -count=1 -timeout 30m -v ./test/extension -run 'InABrowser|TestManyApplications' $(WRITE_RESULTS)

##@ The long suites (CI runs them every night)

.PHONY: e2e
e2e: tools argocd-tools $(BIN)/helm ## Every rollout through the real Argo CD: without stepgate, with it, in audit mode
	$(E2E) TestRollouts -argocd $(ARGOCD_VERSION) -busy 2m $(E2E_PARTS) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-versions
e2e-versions: tools $(ARGOCD_BINARIES) $(BIN)/helm ## The same, without audit mode, through several versions of Argo CD in turn (ARGOCD_VERSIONS)
	$(E2E) TestRollouts -argocd $(subst $(SPACE),$(COMMA),$(strip $(ARGOCD_VERSIONS))) -modes off,on -busy 30s $(E2E_PARTS) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-clusters
e2e-clusters: tools argocd-tools $(BIN)/helm ## Rollouts over two clusters, with shards whose clocks differ, and a cluster that does not answer
	$(E2E) TestRollouts -argocd $(ARGOCD_VERSION) -scenarios clusters-,skew-,dead- -clusters -modes off,on $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-start
e2e-start: tools argocd-tools $(BIN)/helm ## Trains of commits, and syncs that Argo CD does not start: with --start and without
	$(E2E) TestStart -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-order
e2e-order: tools argocd-tools $(BIN)/helm ## stepgate.io/after, mistakes in it, tracks and waves, off and on; maxUpdate with three writers, with --max-update and without
	$(E2E) TestAfter -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)
	$(E2E) TestAfterMistakes -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)
	$(E2E) TestTracks -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)
	$(E2E) TestWaves -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)
	$(E2E) TestMaxUpdate -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-written
e2e-written: tools argocd-tools ## What hides what step 1 has deployed: dry runs, parts, --local, a rollback, a restart; off and on
	$(E2E) TestWrittenDown -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-ledger
e2e-ledger: tools argocd-tools ## A train of commits while all replicas of stepgate are killed, with --ledger and without
	$(E2E) TestLedger -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-beside
e2e-beside: tools argocd-tools ## Rollouts beside Kargo, retries, agents of other clusters, automated sync and people; off and on
	$(E2E) TestBeside -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-evidence
e2e-evidence: tools argocd-tools $(BIN)/helm $(BIN)/argo-rollouts ## Steps that wait for a Job and for an AnalysisRun of the real Argo Rollouts
	$(E2E) TestEvidence -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-control
e2e-control: tools argocd-tools $(BIN)/helm ## The same with parts of stepgate switched off: the suite has to notice
	$(E2E) TestControl -argocd $(ARGOCD_VERSION) -quick $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-size
e2e-size: tools argocd-tools ## Rollouts of 300 Applications, without stepgate and with it, and what they cost
	$(E2E) TestSize -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: kubernetes-versions
kubernetes-versions: $(KUBE_APISERVERS) ## Some suites on the oldest and on the newest Kubernetes (KUBERNETES, KUBERNETES_SUITES)
	@MAKE="$(MAKE)" test/kubernetes/versions.sh $(if $(RESULTS),--results $(RESULTS)) $(BIN) "$(or $(KUBERNETES_SUITES),integration chart-test e2e-rollouts)" $(KUBERNETES)

.PHONY: e2e-node
e2e-node: node-packages tools node-tools argocd-tools $(BIN)/helm $(BIN)/kubectl ## The chart on two nodes with real kubelets, on this machine; needs root
	go test -count=1 -timeout 30m -v ./test/node -run TestNodes $(WRITE_RESULTS) $(NODE_FLAGS)

.PHONY: faults
faults: tools ## Break everything around stepgate: no wrong answer, and all well afterwards
	go test -count=1 -timeout 60m -v ./test/faults $(WRITE_RESULTS) $(FAULTS_FLAGS)

.PHONY: soak-certs
soak-certs: tools ## Rotate certificates and CAs under load: no call fails
	go test -count=1 -timeout 30m -v -run TestCertificates ./test/soak $(WRITE_RESULTS)

.PHONY: soak-restarts
soak-restarts: tools ## Restart and kill replicas under load: a restart fails no call, a kill those of one burst at most
	go test -count=1 -timeout 30m -v -run TestRestarts ./test/soak $(WRITE_RESULTS)

.PHONY: bench
bench: tools $(BIN)/bench ## Measure a decision at up to 5,000 siblings, and the memory at 10,000 Applications
	@$(BIN)/bench $(WRITE_RESULTS) $(BENCH_FLAGS)

.PHONY: bench-size
bench-size: tools $(BIN)/bench ## Memory, CPU, decisions and the watch's lag with 10,000 and 50,000 Applications, by one instance and by two
	@$(BIN)/bench --parts 5 $(WRITE_RESULTS) $(BENCH_FLAGS)

.PHONY: simulate
simulate: ## Play 1,430,000 random rollouts in virtual time (HISTORIES, HISTORIES_36, CONDITIONS, TRAINS, EVIDENCE, CHAINS, SEED): no early start, none that hangs
	@go build -o $(BIN)/simulate ./test/simulation/cmd
	@$(BIN)/simulate -n $(or $(HISTORIES),1000000) -seed $(or $(SEED),1) $(WRITE_RESULTS)
	@$(BIN)/simulate -argocd 3.6 -n $(or $(HISTORIES_36),200000) -seed $(or $(SEED),1) $(WRITE_RESULTS)
	@$(BIN)/simulate -conditions -n $(or $(CONDITIONS),200000) -seed $(or $(SEED),1) $(WRITE_RESULTS)
	@$(BIN)/simulate -trains -argocd all -n $(or $(TRAINS),10000) -seed $(or $(SEED),1) $(WRITE_RESULTS)
	@$(BIN)/simulate -evidence -argocd all -n $(or $(EVIDENCE),10000) -seed $(or $(SEED),1) $(WRITE_RESULTS)
	@$(BIN)/simulate -chains -argocd all -n $(or $(CHAINS),10000) -seed $(or $(SEED),1) $(WRITE_RESULTS)

.PHONY: prove
prove: ## Go through all histories of a small world, of up to EVENTS (8) events, or WIDE (6) of more kinds: no early start
	go run ./test/simulation/proof/cmd -events $(or $(EVENTS),8) -wide $(or $(WIDE),6) $(if $(WITHIN),-within $(WITHIN)) $(WRITE_RESULTS)

.PHONY: simulate-control
simulate-control: ## Take every part of the rule out, one at a time: the simulation has to notice
	go run ./test/simulation/control $(CONTROL_FLAGS) $(WRITE_RESULTS)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (30s)
	@for package in $(FUZZ_PACKAGES); do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$package/*_test.go); do \
	    echo "==> $$package $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
	  done; \
	done

##@ The records in test/results

.PHONY: records
records: ## Run the suites whose records are older than the code, each for half an hour at most; go on where the last call has stopped (RECORDS=faults,bench)
	@mkdir -p $(BIN)
	@go run ./test/report/records --run --only '$(RECORDS)' || failed=1; go run ./test/report/records --mark; exit $${failed:-0}

.PHONY: records-mark
records-mark: ## Say in the first line of each record how much older than the code it is
	@go run ./test/report/records --mark
