# `make help` is the front door. CI runs the parts of `make test-all` side by side, `make vulncheck`, which needs the network, and every night
# the long suites.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN := $(CURDIR)/bin
KUBERNETES_VERSION := v1.36.3
GOLANGCI_LINT_VERSION := v2.15.0
LINTER := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
# The packages of the product itself: `make check` looks at nothing else.
PRODUCT := ./policy/... ./webhook/... ./certs/... ./cmd/...
# Those of them that answer many requests at once.
CONCURRENT := ./policy/... ./webhook/... ./certs/...
# The commands under test/.
COMMANDS := $(addprefix $(BIN)/,bench certmanager demo)
# The test packages that need the tools; the others run with no more than Go.
SUITES := integration chart dashboard pages faults soak image plugin quickstart vulncheck extension
# The packages whose tests play rollouts in virtual time, one event after the other: the race detector would make them take four times as long.
VIRTUAL := cmd/simulation test/simulation/random test/simulation/proof cmd/simulate
# The version of Argo CD that the suites run, and the oldest one: CI runs a shorter form of e2e with it. Every folder
# test/tools/argocd-VERSION builds one version; ARGOCD_VERSIONS are those that `make e2e-versions` runs. v3.6.1 has flags of its own: see
# test/results/README.md.
ARGOCD_VERSION ?= v3.5.7
ARGOCD_OLDEST := v3.2.12
ARGOCD_VERSIONS ?= v3.5.7 v3.4.13 v3.2.12
ARGOCD_BINARIES = $(ARGOCD_VERSIONS:%=$(BIN)/argocd-%)
# The scenarios of `make e2e-short`: both start out of order without stepgate, or e2e fails.
SHORT_SCENARIOS := commit-prod-qa-dev,nine
# The scenarios of `make e2e-oldest`.
OLDEST_SCENARIOS := commit-prod-qa-dev,commit-at-once,nine,retry,kill-each,auto-commit,wait-pause
# Every folder test/tools/kubernetes-VERSION builds the kube-apiserver of one more version, beside KUBERNETES_VERSION.
KUBERNETES ?= $(patsubst test/tools/kubernetes-%/go.mod,%,$(wildcard test/tools/kubernetes-v*/go.mod))
KUBE_APISERVERS = $(KUBERNETES:%=$(BIN)/kubernetes-%/kube-apiserver)
KUBERNETES_SUITES ?=
# The programs of a node and of its control plane: parts of Kubernetes, and of containerd.
KUBERNETES_NODE := $(addprefix $(BIN)/,kubelet kube-controller-manager kube-scheduler kube-proxy)
CONTAINERD_NODE := $(addprefix $(BIN)/,containerd containerd-shim-runc-v2 ctr)
CONTAINERD_VERSION := 2.2.9

# `make build` writes STEPGATE, `make build-webhook` WEBHOOK and `make build-reporter` REPORTER; their sub-command version shows VERSION and
# COMMIT.
STEPGATE ?= $(BIN)/stepgate
WEBHOOK ?= $(BIN)/stepgate-webhook
REPORTER ?= $(BIN)/stepgate-reporter
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
link = go build -buildvcs=false -ldflags '-s -w $(foreach what,version=$(VERSION) commit=$(COMMIT),-X $(BUILT).$(what))' -o $(1) $(2)
BUILT := github.com/stepgate/stepgate/cmd/command
# `make release-image` builds the image of PROGRAM for PLATFORMS into RELEASE, and pushes to the repository IMAGE, if it is set. The time of the
# commit is the time of everything in the image, so that every build of a commit has the same digest.
PROGRAM ?= stepgate-webhook
PLATFORMS ?= linux/amd64 linux/arm64
RELEASE ?= $(BIN)/release
IMAGE ?=
# `make release-plugin` builds the command line for PLUGIN_PLATFORMS, too.
PLUGIN_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
# Where `make extension` writes to.
EXTENSION ?= $(BIN)
# The database of vulnerabilities that `make vulncheck` reads, and the packages that it looks at.
VULNDB ?= https://vuln.go.dev
VULNCHECK ?= ./cmd/stepgate ./cmd/stepgate-webhook ./cmd/stepgate-reporter
# The parts of `make test-all`: CI runs them side by side.
PARTS := test test-argocd test-oldest test-faults test-random test-release
# The parts of the rule that CI takes out of the simulation.
CONTROL_QUICK := A5,NamedPin,AutomatedSources,Unrecorded,Evidence,After
# More flags: of bin/bench (-h lists them), and of go test for e2e, for the nodes and for the faults, such as -run 'F4_|F7_'.
BENCH_FLAGS ?=
E2E_FLAGS ?=
# How e2e is run, and its parts beside the ordinary rollouts.
E2E := go test -count=1 -timeout 12h -v ./test/e2e -run
E2E_PARTS := -liveness -automated -command-line -conditions -gitops -clusters
NODE_FLAGS ?=
FAULTS_FLAGS ?=
# RESULTS=test/results has a suite write its results there: see test/results/README.md.
RESULTS ?=
WRITE_RESULTS = $(if $(RESULTS),-results $(RESULTS))
# The browser of `make site-look`.
CHROMIUM ?= /usr/bin/chromium
# How long, or how often (100x), `make fuzz` runs each target.
FUZZTIME ?= 30s
FUZZ_PACKAGES = $(shell grep -rl '^func Fuzz' --include='*_test.go' . | xargs -n 1 dirname | sort -u)

# All builds share one cache: a build with -trimpath uses nothing of a build without it, and one with cgo nothing of one without. Tests
# with the race detector need cgo; the programs that they build do not. Suites that start stepgate as a process run without the race detector:
# it would look at the suite alone. Flags of `go env -w` remain: the variable would replace them. The linter vets the whole tree; go test would
# vet all dependencies as well, and those of tests with the race detector once more.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath -vet=off,$(shell go env GOFLAGS)) -trimpath -vet=off
COMMA := ,
SPACE := $(subst ,, )

##@ Use it

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z][a-z0-9-]*:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/stepgate, the command line, with version and commit
	$(call link,$(STEPGATE),./cmd/stepgate)

.PHONY: build-webhook
build-webhook: ## Build bin/stepgate-webhook, which the image holds
	$(call link,$(WEBHOOK),./cmd/stepgate-webhook)

.PHONY: build-reporter
build-reporter:
	$(call link,$(REPORTER),./cmd/stepgate-reporter)

.PHONY: demo
demo: $(BIN)/demo ## Play a rollout write by write on a real API server
	@assets=$$(MAKE="$(MAKE)" test/demo/assets.sh $(BIN) $(basename $(KUBERNETES_VERSION:v%=%)).x) && KUBEBUILDER_ASSETS=$$assets $(BIN)/demo

.PHONY: demo-argocd
demo-argocd: tools argocd-tools ## Watch the real Argo CD roll a commit out, without stepgate and with it
	@go test -c -o $(BIN)/e2e.test ./test/e2e && $(BIN)/e2e.test -test.run TestTimelines -argocd $(ARGOCD_VERSION)

##@ While you work

.PHONY: check
check: formatted $(LINTER) ## Format, lint and short tests of the product's packages (a minute when warm)
	$(LINTER) run --allow-parallel-runners $(PRODUCT)
	go test -short $(PRODUCT)

.PHONY: lint
lint: $(LINTER) ## Lint all packages; this also enforces which package may import which
	$(LINTER) run --allow-parallel-runners ./...

.PHONY: generate
generate: $(BIN)/helm ## Write the files that follow from the code and the chart: config/, docs/reference/, tables and screens
	go run ./test/generate --helm $(BIN)/helm

##@ Before you push

# Before the suites, everything is compiled: with empty caches, each of them would compile the same packages. While one download waits for the
# network, the other one compiles. Then three at a time: one that computes beside two that wait for API servers and controllers. make begins
# them in this order.
.PHONY: test
test: formatted ## Everything to run before you push (10 minutes when warm): the suites of the next section, and the demo
	@$(MAKE) -j3 --output-sync=target --no-print-directory tools libraries
	@$(MAKE) -j3 --output-sync=target --no-print-directory unit chart-test integration lint generated simulate-short e2e-short demo
	@echo "==> make test: passed"

.PHONY: libraries
libraries:
	@go list -export ./... >/dev/null

##@ One suite of it alone

.PHONY: unit
unit: ## Unit tests, the fuzz seeds and property tests with few draws; what serves with the race detector
	CGO_ENABLED=1 go test -short -race $(CONCURRENT)
	go test -short -run Dear ./webhook
	go test -short $$(go list ./cmd/... ./test/... | grep -v $(SUITES:%=-e /test/%$$) $(VIRTUAL:%=-e /%$$))

.PHONY: integration
integration: tools ## `stepgate-webhook serve` as a process, on a real etcd and kube-apiserver
	go test -count=1 -timeout 20m ./test/integration

.PHONY: chart-test
chart-test: tools $(BIN)/helm $(BIN)/certmanager ## The chart, with the real Helm and cert-manager's controllers
	go test -count=1 -timeout 20m ./test/chart

.PHONY: simulate-short
simulate-short: ## The kept histories, some random rollouts and all small ones, and whether they notice that a part of the rule is taken out
	go test -short $(VIRTUAL:%=./%)
	go run ./test/simulation/control -parts A5

.PHONY: e2e-short
e2e-short: tools argocd-tools ## Two rollouts through the real Argo CD, without stepgate and with it
	$(E2E) TestRollouts -argocd $(ARGOCD_VERSION) -quick -modes off,on -scenarios $(SHORT_SCENARIOS) $(E2E_FLAGS)

.PHONY: generated
generated: $(BIN)/helm ## Check that the generated files are as `make generate` writes them
	go run ./test/generate --helm $(BIN)/helm --check

##@ The parts that CI runs side by side

.PHONY: test-all
test-all: $(PARTS) ## make test, and all of this section, one after the other
	@echo "==> make test-all: passed"

.PHONY: test-argocd
test-argocd: demo-argocd quickstart e2e-quick e2e-beside-quick ## Some rollouts of every kind on the real Argo CD

.PHONY: test-oldest
test-oldest: e2e-oldest ## A few of them on the oldest Argo CD

.PHONY: test-faults
test-faults: faults-quick soak-quick bench-quick ## The short forms of faults, soak and benchmark

.PHONY: test-random
test-random: properties simulate-quick fuzz-quick ## Everything that draws at random, for some minutes

.PHONY: test-release
test-release: verify pages extension-test release-rehearsal ## The modules, the console blocks of the pages, and the release up to a registry on this machine

##@ The suites of these parts

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

.PHONY: faults-quick
faults-quick: FAULTS_FLAGS += -short -skip 'F15_|F16_|F18_|F20_'
faults-quick: faults ## The faults that take seconds, with fewer injections

.PHONY: soak-quick
soak-quick: tools ## Both soaks, short
	go test -count=1 -timeout 10m -v -short ./test/soak

.PHONY: bench-quick
bench-quick: tools $(BIN)/bench ## Every part of the benchmark once, small: does it run?
	@$(BIN)/bench --quick $(BENCH_FLAGS)
	go test -run '^$$' -bench . -benchtime 1x ./policy ./webhook/judge ./webhook/siblings ./cmd/audit ./cmd/simulate

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
	go test -count=1 -timeout 15m -v ./test/extension -skip 'TestInABrowser|TestManyApplications'

.PHONY: pages
pages: tools $(BIN)/helm $(BIN)/kubectl ## Run the console blocks of the pages from their text
	go test -count=1 -timeout 20m -v ./test/pages

.PHONY: release-rehearsal
release-rehearsal: PLATFORMS := linux/amd64
release-rehearsal: $(BIN)/kubectl ## Play the release on a registry of its own, and look at what comes out: image, SBOM, archives
	PLATFORMS='$(PLATFORMS)' go test -count=1 -timeout 20m -v ./test/image ./test/plugin

.PHONY: vulncheck
vulncheck: $(BIN)/govulncheck ## Look for known vulnerabilities in the code that stepgate calls; needs the network
	@$(BIN)/govulncheck -db $(VULNDB) $(VULNCHECK) || { code=$$?; \
		[ $$code = 3 ] || echo "vulncheck: govulncheck did not finish, and nothing was checked. It needs the network: it reads $(VULNDB)" >&2; exit $$code; }

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
	CHROMIUM='$(CHROMIUM)' go test -count=1 -timeout 30m -v ./test/extension -run 'TestInABrowser|TestManyApplications' $(WRITE_RESULTS)

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
e2e-order: tools argocd-tools $(BIN)/helm ## stepgate.io/after, mistakes in it, and tracks, off and on; maxUpdate with three writers, with --max-update and without
	$(E2E) TestAfter -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)
	$(E2E) TestAfterMistakes -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)
	$(E2E) TestTracks -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)
	$(E2E) TestMaxUpdate -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)

.PHONY: e2e-written
e2e-written: tools argocd-tools ## What hides what step 1 has deployed: dry runs, parts, --local, a rollback, a restart; off and on
	$(E2E) TestWrittenDown -argocd $(ARGOCD_VERSION) $(WRITE_RESULTS) $(E2E_FLAGS)

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
	go run ./test/simulation/proof/cmd -events $(or $(EVENTS),8) -wide $(or $(WIDE),6) $(WRITE_RESULTS)

.PHONY: simulate-control
simulate-control: ## Take every part of the rule out, one at a time: the simulation has to notice
	go run ./test/simulation/control $(WRITE_RESULTS)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (30s)
	@for package in $(FUZZ_PACKAGES); do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$package/*_test.go); do \
	    echo "==> $$package $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
	  done; \
	done

##@ Make a release

.PHONY: release-check
release-check: ## Check that TAG, the chart's version and its appVersion agree
	@for key in version appVersion; do grep -qx "$$key: $(TAG:v%=%)" charts/stepgate/Chart.yaml || \
		{ echo "release-check: $(TAG) is not v and the $$key of charts/stepgate/Chart.yaml" >&2; exit 1; }; done

.PHONY: release-image
release-image: ## Build the released image of PROGRAM and its SBOM into bin/release; push it, if IMAGE names a repository
	@for platform in $(PLATFORMS); do \
	  binary=$(RELEASE)/$$platform/$(PROGRAM); GOOS=$${platform%/*} GOARCH=$${platform#*/} \
	    $(MAKE) --no-print-directory build-$(PROGRAM:stepgate-%=%) WEBHOOK=$$binary REPORTER=$$binary; \
	done
	go run ./test/image -program $(PROGRAM) -dir $(RELEASE) -platforms '$(PLATFORMS)' -version '$(VERSION)' -commit '$(COMMIT)' -time '$(SOURCE_DATE_EPOCH)' -push '$(IMAGE)'

.PHONY: release-plugin
release-plugin: ## Build the archives of the command line and krew's manifest into bin/release
	@for platform in $(PLUGIN_PLATFORMS); do \
	  GOOS=$${platform%/*} GOARCH=$${platform#*/} $(MAKE) --no-print-directory build STEPGATE=$(RELEASE)/$$platform/stepgate; \
	done
	go run ./test/plugin -dir $(RELEASE) -platforms '$(PLUGIN_PLATFORMS)' -version '$(VERSION)' -time '$(SOURCE_DATE_EPOCH)'

.PHONY: extension
extension: ## Pack the extension of Argo CD's UI, from what is committed, with its checksum: bin/extension.tar (EXTENSION)
	go run ./test/extension -dir $(EXTENSION) -time '$(SOURCE_DATE_EPOCH)'

##@ Tools (built from source into bin/, each once; the suites call these themselves)

.PHONY: tools
tools: ## etcd and kube-apiserver; skipped when KUBEBUILDER_ASSETS names a folder that has them
ifdef KUBEBUILDER_ASSETS
	@echo "==> using etcd and kube-apiserver of KUBEBUILDER_ASSETS=$(KUBEBUILDER_ASSETS)"
else
tools: $(BIN)/etcd $(BIN)/kube-apiserver
endif

.PHONY: argocd-tools
argocd-tools: $(BIN)/argocd-$(ARGOCD_VERSION) ## Argo CD, all its controllers and its CLI: the version ARGOCD_VERSION

.PHONY: node-tools
node-tools: $(KUBERNETES_NODE) $(CONTAINERD_NODE) ## kubelet, containerd and what else a node needs

.PHONY: helm-tools
helm-tools: $(BIN)/helm ## Helm, for the tests of the chart

.PHONY: clean
clean: ## Remove bin/
	rm -rf $(BIN)

# Not in the help.

.PHONY: node-packages
node-packages:
	@test/node/packages.sh

.PHONY: formatted
formatted:
	@files=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); test -z "$$files" || { echo "run gofmt -w on:"; echo "$$files"; exit 1; }

# A suite of kubernetes-versions.
.PHONY: e2e-rollouts
e2e-rollouts: tools argocd-tools $(BIN)/helm
	$(E2E) TestRollouts -quick -modes off,on -automated -command-line $(E2E_FLAGS)

# npm runs no script of a package: none of them needs it.
NODE_MODULES := $(foreach folder,docs cmd/page test/browser test/extension,$(folder)/node_modules/.package-lock.json)
$(NODE_MODULES): %/node_modules/.package-lock.json: %/package.json %/package-lock.json
	@npm --prefix $* ci --ignore-scripts --no-audit --no-fund
	@touch $@

# The commands are built each time: go build knows when there is nothing to do.
.PHONY: $(COMMANDS)
$(COMMANDS): $(BIN)/%:
	@echo "==> building bin/$* (up to 2 minutes from an empty cache)"
	@go build -o $@ ./test/$*

# build-tool FOLDER,LDFLAGS,PACKAGE builds a tool from the module in a folder under test/tools. Each tool is a module of its
# own, with the dependencies of its own release; it is rebuilt when that module changes.
define build-tool
	@echo "==> building $(@:$(CURDIR)/%=%) (up to 4 minutes from an empty cache)"
	@cd $(1) && go build $(TAGS) -ldflags '-s -w $(2)' -o $@ $(3)
	@touch $@
endef

$(BIN)/etcd: test/tools/go.mod test/tools/go.sum
	$(call build-tool,test/tools,,go.etcd.io/etcd/server/v3)

# A folder for KUBEBUILDER_ASSETS. The etcd is the one of the other suites. Up to 1.30 the API server has the SDKs of clouds in it, unless it is
# built without.
$(BIN)/kubernetes-v%/kube-apiserver: TAGS := -tags providerless
$(BIN)/kubernetes-v%/kube-apiserver: SET := -X k8s.io/component-base/version
$(BIN)/kubernetes-v%/kube-apiserver: test/tools/kubernetes-v%/go.mod test/tools/kubernetes-v%/go.sum $(BIN)/etcd
	@mkdir -p $(@D) && ln -sf ../etcd $(@D)/etcd
	$(call build-tool,test/tools/kubernetes-v$*,$(SET).gitVersion=v$* $(SET).gitMajor=1 $(SET).gitMinor=$(word 2,$(subst ., ,$*)),k8s.io/kubernetes/cmd/kube-apiserver)

# Without a version, Argo CD and Helm refuse to talk to it.
$(BIN)/kube-apiserver $(BIN)/kubectl $(KUBERNETES_NODE): SET := -X k8s.io/component-base/version
$(BIN)/kube-apiserver $(KUBERNETES_NODE): $(BIN)/%: test/tools/go.mod test/tools/go.sum
	$(call build-tool,test/tools,$(SET).gitVersion=$(KUBERNETES_VERSION) $(SET).gitMajor=1 $(SET).gitMinor=36,k8s.io/kubernetes/cmd/$*)

$(BIN)/kubectl: test/tools/go.mod test/tools/go.sum
	$(call build-tool,test/tools,$(SET).gitVersion=$(KUBERNETES_VERSION),k8s.io/kubernetes/cmd/kubectl)

$(CONTAINERD_NODE): $(BIN)/%: test/tools/containerd/go.mod test/tools/containerd/go.sum
	$(call build-tool,test/tools/containerd,-X github.com/containerd/containerd/v2/version.Version=$(CONTAINERD_VERSION),github.com/containerd/containerd/v2/cmd/$*)

# A version may have edits of Argo CD's own files, test/tools/argocd-VERSION/edits; test/tools/edit.sh explains them. It may need a
# newer Go than the rest: its go.mod names it, and go downloads it from the module proxy.
$(BIN)/argocd-v%: export GOTOOLCHAIN := auto
$(BIN)/argocd-v%: test/tools/argocd-v%/go.mod test/tools/argocd-v%/go.sum
	$(call build-tool,test/tools/argocd-v$*,-X github.com/argoproj/argo-cd/v3/common.version=$*,\
		$$(../edit.sh $(BIN)/edits/argocd-v$*) github.com/argoproj/argo-cd/v3/cmd)
	@rm -rf $(BIN)/edits

$(BIN)/argo-rollouts: test/tools/argo-rollouts/go.mod test/tools/argo-rollouts/go.sum
	$(call build-tool,test/tools/argo-rollouts,,github.com/argoproj/argo-rollouts/cmd/rollouts-controller)

$(BIN)/helm: test/tools/helm/go.mod test/tools/helm/go.sum
	$(call build-tool,test/tools/helm,-X helm.sh/helm/v4/internal/version.version=v4.2.4,helm.sh/helm/v4/cmd/helm)

$(BIN)/govulncheck: test/tools/govulncheck/go.mod test/tools/govulncheck/go.sum
	$(call build-tool,test/tools/govulncheck,,golang.org/x/vuln/cmd/govulncheck)

$(LINTER):
	@echo "==> building golangci-lint $(GOLANGCI_LINT_VERSION) (up to 4 minutes from an empty cache)"
	@GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv $(BIN)/golangci-lint $@
