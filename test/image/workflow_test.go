package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// step is a step of a job of the release workflow.
type step struct {
	ID, Name, Uses, Run string
	With                map[string]any
	Env                 map[string]string
}

// imageSteps are the steps by which the release workflow publishes the image.
func imageSteps(g Gomega) []step {
	text, err := os.ReadFile(filepath.Join(root, ".github", "workflows", "release.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var workflow struct {
		Jobs map[string]struct{ Steps []step }
	}
	g.Expect(yaml.Unmarshal(text, &workflow)).To(Succeed())
	g.Expect(workflow.Jobs).To(HaveKey("image"))
	return workflow.Jobs["image"].Steps
}

// buildStep is the step of the workflow that builds and pushes the image: TestRehearsal runs its script.
func buildStep(g Gomega) step {
	for _, s := range imageSteps(g) {
		if s.ID == "build" {
			return s
		}
	}
	g.Expect("a step with the id build").To(BeEmpty(), "it is missing in release.yaml")
	return step{}
}

// TestEverythingIsSignedByItsDigest wants that the steps after the build name the image by the digest of the build
// alone: a tag may have moved.
func TestEverythingIsSignedByItsDigest(t *testing.T) {
	g := NewWithT(t)
	digest := Equal("${{ steps.build.outputs.digest }}")
	uses := map[string]step{}
	for _, s := range imageSteps(g) {
		uses[regexp.MustCompile(`@.*`).ReplaceAllString(s.Uses, "")] = s
		if s.Name == "Sign the image, keyless" {
			g.Expect(s.Run).To(Equal(`cosign sign --yes "${IMAGE}@${DIGEST}"`))
			g.Expect(s.Env["DIGEST"]).To(digest)
			uses["cosign sign"] = s
		}
	}
	g.Expect(uses).To(HaveKey("cosign sign"))
	for _, action := range []string{"actions/attest-build-provenance", "actions/attest-sbom"} {
		g.Expect(uses).To(HaveKey(action))
		g.Expect(uses[action].With["subject-digest"]).To(digest, action)
	}
	g.Expect(uses["actions/attest-sbom"].With["sbom-path"]).To(Equal("${{ env.RELEASE }}/stepgate.spdx.json"))
	g.Expect(uses["anchore/sbom-action"].With["image"]).To(Equal("${{ env.IMAGE }}@${{ steps.build.outputs.digest }}"))
}
