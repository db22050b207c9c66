// SPDX-License-Identifier: Apache-2.0

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

// job is a job of the release workflow, which runs for each entry of its matrix.
type job struct {
	Strategy struct {
		Matrix struct{ Include []map[string]string }
	}
	Env   map[string]string
	Steps []step
}

// imageJob is the job by which the release workflow publishes the images.
func imageJob(g Gomega) job {
	text, err := os.ReadFile(filepath.Join(root, ".github", "workflows", "release.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var workflow struct {
		Jobs map[string]job
	}
	g.Expect(yaml.Unmarshal(text, &workflow)).To(Succeed())
	g.Expect(workflow.Jobs).To(HaveKey("image"))
	return workflow.Jobs["image"]
}

// buildStep is the step of the workflow that builds and pushes the image: TestRehearsal runs its script.
func buildStep(g Gomega) step {
	for _, s := range imageJob(g).Steps {
		if s.ID == "build" {
			return s
		}
	}
	g.Expect("a step with the id build").To(BeEmpty(), "it is missing in release.yaml")
	return step{}
}

// TestEveryProgramHasItsImage wants that the workflow publishes each program, to a repository of its own.
func TestEveryProgramHasItsImage(t *testing.T) {
	g := NewWithT(t)
	job := imageJob(g)
	var want []map[string]string
	for _, p := range programs {
		want = append(want, map[string]string{"program": p.name, "image": "ghcr.io/stepgate/" + p.title})
	}
	g.Expect(job.Strategy.Matrix.Include).To(Equal(want))
	g.Expect(job.Env).To(Equal(map[string]string{
		"IMAGE": "${{ matrix.image }}", "PROGRAM": "${{ matrix.program }}",
	}))
}

// TestEverythingIsSignedByItsDigest wants that the steps after the build name the image by the digest of the build
// alone: a tag may have moved.
func TestEverythingIsSignedByItsDigest(t *testing.T) {
	g := NewWithT(t)
	digest := Equal("${{ steps.build.outputs.digest }}")
	uses := map[string]step{}
	for _, s := range imageJob(g).Steps {
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
	g.Expect(uses["actions/attest-sbom"].With["sbom-path"]).To(Equal("${{ env.RELEASE }}/${{ env.PROGRAM }}.spdx.json"))
	g.Expect(uses["anchore/sbom-action"].With["image"]).To(Equal("${{ env.IMAGE }}@${{ steps.build.outputs.digest }}"))
}
