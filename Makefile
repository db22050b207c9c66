# `make help` shows what people call most, and `make help-all` everything. CI runs the parts of `make test-all` side by side, `make vulncheck`, which needs
# the network, and every night the long suites. All but the suites of `make test` is in test/*.mk.
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
SUITES := integration chart dashboard pages faults soak image plugin quickstart release vulncheck extension
# The packages whose tests play rollouts in virtual time, one event after the other: the race detector would make them take four times as long.
VIRTUAL := cmd/simulation test/simulation/random test/simulation/proof cmd/simulate
# The version of Argo CD that the suites run, the oldest and the newest one: CI runs a shorter form of e2e with those. Every folder
# test/tools/argocd-VERSION builds one version; ARGOCD_VERSIONS are those that `make e2e-versions` runs. v3.6.1 has flags of its own: see
# test/results/README.md.
ARGOCD_VERSION ?= v3.5.7
ARGOCD_OLDEST := v3.2.12
ARGOCD_NEWEST := v3.6.1
ARGOCD_VERSIONS ?= v3.5.7 v3.4.13 v3.2.12
ARGOCD_BINARIES = $(ARGOCD_VERSIONS:%=$(BIN)/argocd-%)
# The scenarios of `make e2e-short`: both start out of order without stepgate, or e2e fails.
SHORT_SCENARIOS := commit-prod-qa-dev,nine
# The scenarios of `make e2e-oldest` and `make e2e-newest`.
OLDEST_SCENARIOS := commit-prod-qa-dev,commit-at-once,nine,retry,kill-each,auto-commit,wait-pause
# Every folder test/tools/kubernetes-VERSION builds the kube-apiserver of one more version, beside KUBERNETES_VERSION. The oldest and the newest
# one are run unless others are named.
KUBERNETES_ALL := $(sort $(patsubst test/tools/kubernetes-%/go.mod,%,$(wildcard test/tools/kubernetes-v*/go.mod)))
KUBERNETES ?= $(firstword $(KUBERNETES_ALL)) $(lastword $(KUBERNETES_ALL))
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
# `make release-image` builds the image of PROGRAM for PLATFORMS into RELEASE. It pushes it to the repository IMAGE, and writes it to the folder
# LAYOUT, if these are set. The time of the commit is the time of everything in the image, so that every build of a commit has the same digest.
PROGRAM ?= stepgate-webhook
PLATFORMS ?= linux/amd64 linux/arm64
RELEASE ?= $(BIN)/release
IMAGE ?=
LAYOUT ?=
# `make release-plugin` builds the command line for PLUGIN_PLATFORMS, too.
PLUGIN_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
# Where `make extension` writes to.
EXTENSION ?= $(BIN)
# The database of vulnerabilities that `make vulncheck` reads, and the packages that it looks at.
VULNDB ?= https://vuln.go.dev
VULNCHECK ?= ./cmd/stepgate ./cmd/stepgate-webhook ./cmd/stepgate-reporter
# The parts of `make test-all`: CI runs them side by side.
PARTS := test test-argocd test-versions test-faults test-random test-release
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

targets = awk 'BEGIN {FS = ":.*\#\# "} /^\#\#@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z][a-z0-9-]*:.*\#\# / {printf "  make %-17s %s\n", $$1, $$2}'

.PHONY: help
help: ## Show this help
	@$(targets) $(firstword $(MAKEFILE_LIST))

.PHONY: help-all
help-all: ## Show all targets: the long suites, the site and the pages, a release, the tools
	@$(targets) $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/stepgate, the command line, with version and commit
	$(call link,$(STEPGATE),./cmd/stepgate)

.PHONY: build-webhook
build-webhook:
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
check: formatted subjects $(LINTER) ## Format, subjects of commits, lint and short tests of the product's packages (a minute when warm)
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
test: formatted ## Everything to run before you push (20 minutes when warm): the suites of the next section, and the demo
	@$(MAKE) -j3 --output-sync=target --no-print-directory tools libraries
	@$(MAKE) -j3 --output-sync=target --no-print-directory unit chart-test integration lint generated simulate-short e2e-short demo
	@echo "==> make test: passed"

.PHONY: libraries
libraries:
	@go list -export ./... >/dev/null

.PHONY: test-all
test-all: $(PARTS) ## make test, and all other parts that CI runs, one after the other
	@echo "==> make test-all: passed"

##@ One suite of it alone

.PHONY: unit
unit: ## Unit tests, the fuzz seeds and property tests with few draws; what serves with the race detector
	CGO_ENABLED=1 go test -short -race $(CONCURRENT)
	go test -short -run Dear ./webhook
	go test -short $$(go list ./cmd/... ./test/... | grep -v $(SUITES:%=-e /test/%$$) $(VIRTUAL:%=-e /%$$))

.PHONY: integration
integration: tools ## `stepgate-webhook serve` as a process, on a real etcd and kube-apiserver
	go test -count=1 -timeout 20m -parallel 4 ./test/integration

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

# Not in the help.

.PHONY: formatted
formatted:
	@files=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); test -z "$$files" || { echo "run gofmt -w on:"; echo "$$files"; exit 1; }

# The subject of a commit fits into a line of `git log --oneline`, and into a title on GitHub. Who has pushed one cannot amend it any more.
SUBJECT := 72
.PHONY: subjects
subjects:
	@long=$$(git log -20 --no-merges --format=%s HEAD --not --remotes | awk 'length($$0) > $(SUBJECT)'); test -z "$$long" || \
		{ echo "the subject of a commit has at most $(SUBJECT) characters; see git commit --amend:"; echo "$$long"; exit 1; }

# The build of the image has no tests.
include $(wildcard test/*.mk)
