# The tools of the suites, built from source. The Makefile includes this.

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
