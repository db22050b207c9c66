# What a release is made with. The Makefile includes this.

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
	go run ./test/image -program $(PROGRAM) -dir $(RELEASE) -platforms '$(PLATFORMS)' -version '$(VERSION)' -commit '$(COMMIT)' -time '$(SOURCE_DATE_EPOCH)' -push '$(IMAGE)' -layout '$(LAYOUT)'

.PHONY: release-plugin
release-plugin: ## Build the archives of the command line and krew's manifest into bin/release
	@for platform in $(PLUGIN_PLATFORMS); do \
	  GOOS=$${platform%/*} GOARCH=$${platform#*/} $(MAKE) --no-print-directory build STEPGATE=$(RELEASE)/$$platform/stepgate; \
	done
	go run ./test/plugin -dir $(RELEASE) -platforms '$(PLUGIN_PLATFORMS)' -version '$(VERSION)' -time '$(SOURCE_DATE_EPOCH)'

.PHONY: extension
extension: ## Pack the extension of Argo CD's UI, from what is committed, with its checksum: bin/extension.tar (EXTENSION)
	go run ./test/extension -dir $(EXTENSION) -time '$(SOURCE_DATE_EPOCH)'

# A release candidate in one folder, as a release publishes it, but for the signatures: those need GitHub's identity.
CANDIDATE ?= v0.1.0-rc.1
CANDIDATE_DIR ?= $(BIN)/$(CANDIDATE)
CANDIDATE_MAKE = $(MAKE) --no-print-directory VERSION=$(CANDIDATE) RELEASE=$(CANDIDATE_DIR)
.PHONY: release-candidate
release-candidate: $(BIN)/helm site ## Put everything that a release CANDIDATE publishes into one folder: images, chart, archives, SBOMs, site, notes, checksums, provenance
	@rm -rf $(CANDIDATE_DIR) && mkdir -p $(CANDIDATE_DIR)
	@$(CANDIDATE_MAKE) release-image PROGRAM=stepgate-webhook LAYOUT=$(CANDIDATE_DIR)/stepgate-webhook.oci
	@$(CANDIDATE_MAKE) release-image PROGRAM=stepgate-reporter LAYOUT=$(CANDIDATE_DIR)/stepgate-reporter.oci
	@$(CANDIDATE_MAKE) release-plugin
	@$(CANDIDATE_MAKE) extension EXTENSION=$(CANDIDATE_DIR)
	@$(BIN)/helm package charts/stepgate --version $(CANDIDATE:v%=%) --app-version $(CANDIDATE:v%=%) --destination $(CANDIDATE_DIR)
	@rm -rf $(foreach platform,$(PLATFORMS) $(PLUGIN_PLATFORMS),$(CANDIDATE_DIR)/$(firstword $(subst /, ,$(platform))))
	@tar -C $(BIN)/site -czf $(CANDIDATE_DIR)/site.tar.gz .
	@go run ./test/release -dir $(CANDIDATE_DIR) -version $(CANDIDATE) -commit $(COMMIT)
	@ls -lh $(CANDIDATE_DIR)
