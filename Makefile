# The front door: `make help`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

KUBERNETES_VERSION := v1.36.3
GOLANGCI_LINT_VERSION := v2.15.0
BIN := $(CURDIR)/bin
VERSION_PACKAGE := k8s.io/component-base/version
# Without a version, Argo CD and Helm refuse to talk to it.
APISERVER_LDFLAGS := -s -w -X $(VERSION_PACKAGE).gitVersion=$(KUBERNETES_VERSION) -X $(VERSION_PACKAGE).gitMajor=1 -X $(VERSION_PACKAGE).gitMinor=36
# What `make build` makes, and what `stepgate version` says of it.
STEPGATE ?= $(BIN)/stepgate
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
ARGOCD_LDFLAGS := -s -w -X github.com/argoproj/argo-cd/v3/common.version=3.5.7
HELM_LDFLAGS := -s -w -X helm.sh/helm/v4/internal/version.version=v4.3.1
# Seconds that each fuzz target is run by `make fuzz`.
FUZZTIME ?= 30s
# Flags of `make faults`, such as --only F4,F7.
FAULTS_FLAGS ?=
# Flags of `make bench`, such as --siblings 10,100 --parts 1.
BENCH_FLAGS ?=
# Flags of `make e2e`, such as --scenarios commit,nine --modes off,on.
E2E_FLAGS ?=

export CGO_ENABLED ?= 0

##@ Use

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z][a-z0-9-]*:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/stepgate, with version and commit
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o $(STEPGATE) ./cmd/stepgate

.PHONY: demo
demo: tools ## Play a rollout against a real API server, with and without the right order
	@echo "==> building stepgate and the demo (from an empty cache: about 2 minutes)"
	@go build -o $(BIN)/demo ./test/demo
	@$(BIN)/demo

.PHONY: demo-argocd
demo-argocd: tools argocd-tools ## Watch the real Argo CD roll a commit out, without stepgate and with it
	@echo "==> building the demo (from an empty cache: about 2 minutes)"
	@go build -o $(BIN)/e2e ./test/e2e
	@$(BIN)/e2e --demo

##@ Test

.PHONY: test
test: verify lint unit integration chart-test e2e-quick ## Everything that CI runs: verify, lint, unit, fuzz seeds, integration, chart, a part of e2e
	@echo "==> make test: passed"

.PHONY: unit
unit: ## Unit, property and table tests and the fuzz seeds, with the race detector
	CGO_ENABLED=1 go test -race $$(go list ./... | grep -v -e /test/integration -e /test/chart)

.PHONY: integration
integration: tools ## Tests of `stepgate serve` as a process, on a real etcd and kube-apiserver
	CGO_ENABLED=1 go test -race -count=1 -timeout 20m ./test/integration

.PHONY: e2e
e2e: tools argocd-tools ## Roll out through the real Argo CD, without the gate, with it and in audit mode (about 20 minutes)
	@go build -o $(BIN)/e2e ./test/e2e
	@$(BIN)/e2e --loop $(E2E_FLAGS)

.PHONY: e2e-quick
e2e-quick: tools argocd-tools ## The part of e2e that CI runs (at most 5 minutes)
	@go build -o $(BIN)/e2e ./test/e2e
	@$(BIN)/e2e --quick --modes off,on

.PHONY: chart-test
chart-test: tools $(BIN)/helm $(BIN)/certmanager ## Tests of the Helm chart with the real Helm and cert-manager's controllers, on a real kube-apiserver
	CGO_ENABLED=1 go test -race -count=1 -timeout 20m ./test/chart

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (30s)
	@for package in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "==> $$package $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
	  done; \
	done

.PHONY: simulate
simulate: ## Play 1,000,000 random rollouts in virtual time (HISTORIES, SEED), and look for early starts and for rollouts that hang
	@go build -o $(BIN)/simulate ./test/simulation/cmd
	@$(BIN)/simulate -n $(or $(HISTORIES),1000000) -seed $(or $(SEED),1)

.PHONY: simulate-control
simulate-control: ## Take parts of the rule out, one at a time, and check that the simulation notices
	go run ./test/simulation/control

.PHONY: bench
bench: tools ## Measure what a decision costs, at up to 5,000 siblings, and the memory at 10,000 Applications
	@echo "==> building the benchmark (from an empty cache: about 2 minutes)"
	@go build -o $(BIN)/bench ./test/bench
	@$(BIN)/bench $(BENCH_FLAGS)

.PHONY: soak-certs
soak-certs: tools ## Rotate leaves and CAs under load: 0 failed calls (about 6 minutes)
	@echo "==> building the soak (from an empty cache: about 2 minutes)"
	@go build -o $(BIN)/soak ./test/soak
	@$(BIN)/soak certs

.PHONY: soak-restarts
soak-restarts: tools ## Restart and kill replicas under load: 0 failed calls, recovered within a second (about 5 minutes)
	@echo "==> building the soak (from an empty cache: about 2 minutes)"
	@go build -o $(BIN)/soak ./test/soak
	@$(BIN)/soak restarts

.PHONY: faults
faults: tools ## Break what is around stepgate: nothing wrongly admitted or denied, all well afterwards (about 15 minutes)
	@echo "==> building the faults (from an empty cache: about 2 minutes)"
	@go build -o $(BIN)/faults ./test/faults
	@$(BIN)/faults $(FAULTS_FLAGS)

.PHONY: faults-quick
faults-quick: FAULTS_FLAGS += --quick
faults-quick: faults ## The quick ones of them (about 2 minutes)

##@ Check

.PHONY: lint
lint: $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION) ## Run the pinned linter; it also enforces which package may import which
	$< run ./...

.PHONY: generate
generate: $(BIN)/helm ## Write what is derived from the chart: config/ and the chart's table of values
	go run ./test/generate --helm $(BIN)/helm

.PHONY: verify
verify: $(BIN)/helm ## Check that go.mod, go.sum, the formatting and what is generated are as the tools leave them
	go run ./test/generate --helm $(BIN)/helm --check
	go mod tidy -diff
	for module in . argocd helm certmanager; do (cd test/tools/$$module && go mod tidy -diff); done
	go mod verify >/dev/null
	@test -z "$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))" || { echo "run gofmt -w on:"; gofmt -l $$(git ls-files -co --exclude-standard '*.go'); exit 1; }

##@ Tools

.PHONY: tools
tools: ## Build etcd and kube-apiserver into bin/ (once; skipped when KUBEBUILDER_ASSETS is set)
ifdef KUBEBUILDER_ASSETS
	@echo "==> using etcd and kube-apiserver of KUBEBUILDER_ASSETS=$(KUBEBUILDER_ASSETS)"
else
	@$(MAKE) --no-print-directory $(BIN)/etcd $(BIN)/kube-apiserver
endif

# Both are rebuilt when their versions change, and only then.
$(BIN)/etcd: test/tools/go.mod test/tools/go.sum
	@echo "==> building etcd (from an empty cache: about 1 minute)"
	cd test/tools && go build -trimpath -ldflags '-s -w' -o $@ go.etcd.io/etcd/server/v3
	@touch $@

$(BIN)/kube-apiserver: test/tools/go.mod test/tools/go.sum
	@echo "==> building kube-apiserver $(KUBERNETES_VERSION) (from an empty cache: about 3 minutes)"
	cd test/tools && go build -trimpath -ldflags '$(APISERVER_LDFLAGS)' -o $@ k8s.io/kubernetes/cmd/kube-apiserver
	@touch $@

.PHONY: argocd-tools
argocd-tools: $(BIN)/argocd ## Build Argo CD (all its controllers, and its CLI) into bin/, once

$(BIN)/argocd: test/tools/argocd/go.mod test/tools/argocd/go.sum
	@echo "==> building Argo CD (from an empty cache: about 4 minutes)"
	cd test/tools/argocd && go build -trimpath -ldflags '$(ARGOCD_LDFLAGS)' -o $@ github.com/argoproj/argo-cd/v3/cmd
	@touch $@

.PHONY: helm-tools
helm-tools: $(BIN)/helm ## Build Helm, for the tests of the chart, into bin/, once

$(BIN)/helm: test/tools/helm/go.mod test/tools/helm/go.sum
	@echo "==> building Helm (from an empty cache: about 2 minutes)"
	cd test/tools/helm && go build -trimpath -ldflags '$(HELM_LDFLAGS)' -o $@ helm.sh/helm/v4/cmd/helm
	@touch $@

$(BIN)/certmanager: test/tools/certmanager/main.go test/tools/certmanager/go.mod test/tools/certmanager/go.sum
	@echo "==> building cert-manager's controllers (from an empty cache: about 2 minutes)"
	cd test/tools/certmanager && go build -trimpath -ldflags '-s -w' -o $@ .
	@touch $@

$(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION):
	@echo "==> building golangci-lint $(GOLANGCI_LINT_VERSION) (from an empty cache: about 1 minute)"
	GOBIN=$(BIN) go install -trimpath github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv $(BIN)/golangci-lint $@

.PHONY: clean
clean: ## Remove bin/
	rm -rf $(BIN)
