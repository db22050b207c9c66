// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	. "github.com/onsi/gomega"
)

const (
	version = "v9.8.7"
	commit  = "c0ffee"
	// seconds is the time of the commit.
	seconds = "1700000000"
)

// TestRehearsal rehearses a release of each program. It runs the script of the release workflow against a registry of
// its own, pulls the image back, and looks at everything in it. PLATFORMS names the platforms.
func TestRehearsal(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) { rehearse(t, p) })
	}
}

func rehearse(t *testing.T, p program) {
	t.Helper()
	g := NewWithT(t)
	platforms := cmp.Or(os.Getenv("PLATFORMS"), "linux/amd64")
	repository, dir := startRegistry(t), t.TempDir()
	digest := publish(t, p, dir, repository, platforms)
	index := pull(g, repository, digest)
	g.Expect(validate.Index(index)).To(Succeed(), "all digests and sizes agree")
	manifest, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.MediaType).To(Equal(types.OCIImageIndex))
	g.Expect(manifest.Annotations).To(Equal(release{program: p, version: version, commit: commit}.labels()))
	var published []string
	for _, m := range manifest.Manifests {
		published = append(published, m.Platform.String())
		t.Run(m.Platform.String(), func(t *testing.T) {
			image, err := index.Image(m.Digest)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			expectImage(t, p, image, *m.Platform)
			binary := unpack(t, p, image)
			expectStatic(t, binary, m.Platform.Architecture)
			expectVersion(t, binary, *m.Platform)
			expectListed(t, filepath.Join(dir, p.name+".spdx.json"), binary)
		})
	}
	g.Expect(published).To(Equal(strings.Fields(platforms)))
	expectSameAgain(t, p, digest, platforms)
}

// publish runs the script of the workflow's build step, and returns the digest that it hands to the next steps.
func publish(t *testing.T, p program, dir, repository, platforms string) string {
	t.Helper()
	g := NewWithT(t)
	output := filepath.Join(t.TempDir(), "output")
	script := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", buildStep(g).Run)
	script.Dir = root
	script.Env = append(os.Environ(), "PROGRAM="+p.name, "IMAGE="+repository, "TAG="+version,
		"COMMIT="+commit, "GITHUB_OUTPUT="+output,
		"RELEASE="+dir, "PLATFORMS="+platforms, "SOURCE_DATE_EPOCH="+seconds)
	text, err := script.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(text))
	outputs, err := os.ReadFile(output)
	g.Expect(err).NotTo(HaveOccurred())
	digest, found := strings.CutPrefix(strings.TrimSpace(string(outputs)), "digest=")
	g.Expect(found).To(BeTrue(), string(outputs))
	return digest
}

// pull pulls the image by its digest, which is the one that the tag names.
func pull(g Gomega, repository, digest string) v1.ImageIndex {
	login := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	tag, err := name.NewTag(repository + ":" + version)
	g.Expect(err).NotTo(HaveOccurred())
	tagged, err := remote.Head(tag, login)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tagged.Digest.String()).To(Equal(digest))
	reference, err := name.NewDigest(repository + "@" + digest)
	g.Expect(err).NotTo(HaveOccurred())
	index, err := remote.Index(reference, login)
	g.Expect(err).NotTo(HaveOccurred())
	return index
}

// expectVersion runs the binary, if this machine can.
func expectVersion(t *testing.T, binary string, platform v1.Platform) {
	t.Helper()
	if platform.String() != runtime.GOOS+"/"+runtime.GOARCH {
		t.Logf("the binary for %s is not run here", platform)
		return
	}
	g := NewWithT(t)
	text, err := exec.CommandContext(t.Context(), binary, "version").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(text))
	g.Expect(string(text)).To(Equal("stepgate " + version + ", commit " + commit + ", " + runtime.Version() + " " +
		platform.String() + "\n"))
}

// expectSameAgain builds the release again in another folder, from no more than the Dockerfile copies, and expects the
// same digest.
func expectSameAgain(t *testing.T, p program, digest, platforms string) {
	t.Helper()
	g := NewWithT(t)
	sources, dir := t.TempDir(), t.TempDir()
	for _, path := range copied(g) {
		copying := exec.CommandContext(t.Context(), "cp", "-r", "--parents", path, sources)
		copying.Dir = root
		text, err := copying.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(text))
	}
	for _, platform := range strings.Fields(platforms) {
		os, architecture, _ := strings.Cut(platform, "/")
		build := exec.CommandContext(t.Context(), "make", "build-"+strings.TrimPrefix(p.name, "stepgate-"),
			"VERSION="+version, "COMMIT="+commit, "WEBHOOK="+filepath.Join(dir, platform, p.name),
			"REPORTER="+filepath.Join(dir, platform, p.name))
		build.Dir = sources
		build.Env = append(build.Environ(), "GOOS="+os, "GOARCH="+architecture)
		text, err := build.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(text))
	}
	g.Expect(run(t.Context(), []string{
		"-program", p.name, "-dir", dir, "-platforms", platforms, "-version", version, "-commit", commit, "-time", seconds,
	})).To(Succeed())
	again, err := os.ReadFile(filepath.Join(dir, p.name+".digest"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.TrimSpace(string(again))).To(Equal(digest), "a second build has another digest")
}
