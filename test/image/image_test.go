// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/gomega"
)

// madeUp is a release of the webhook for two platforms whose binaries are no programs: to build two takes minutes.
func madeUp(t *testing.T) release {
	t.Helper()
	r := release{
		program: programs[0], dir: t.TempDir(), version: version, commit: commit, time: time.Unix(1700000000, 0),
		platforms: []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}},
	}
	for _, platform := range r.platforms {
		g := NewWithT(t)
		g.Expect(os.MkdirAll(filepath.Dir(r.binary(platform)), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(r.binary(platform), []byte("the program for "+platform.String()), 0o600)).To(Succeed())
	}
	return r
}

func TestEveryPlatformHasItsBinary(t *testing.T) {
	g := NewWithT(t)
	index, err := madeUp(t).index()
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		g.Expect(err).NotTo(HaveOccurred())
		expectImage(t, programs[0], image, *m.Platform)
		content, err := os.ReadFile(unpack(t, programs[0], image))
		g.Expect(err).NotTo(HaveOccurred())
		found[m.Platform.String()] = string(content)
	}
	g.Expect(found).To(Equal(map[string]string{
		"linux/amd64": "the program for linux/amd64", "linux/arm64": "the program for linux/arm64",
	}))
}

func TestTheDigestFollowsFromTheRelease(t *testing.T) {
	digest := func(r release) string {
		g := NewWithT(t)
		index, err := r.index()
		g.Expect(err).NotTo(HaveOccurred())
		digest, err := index.Digest()
		g.Expect(err).NotTo(HaveOccurred())
		return digest.String()
	}
	g := NewWithT(t)
	one, same, later, changed := madeUp(t), madeUp(t), madeUp(t), madeUp(t)
	later.time = later.time.Add(time.Second)
	g.Expect(os.WriteFile(changed.binary(changed.platforms[1]), []byte("another program"), 0o600)).To(Succeed())
	g.Expect(digest(same)).To(Equal(digest(one)))
	g.Expect(digest(later)).NotTo(Equal(digest(one)))
	g.Expect(digest(changed)).NotTo(Equal(digest(one)))
}

func TestNothingIsAssembledOfAnotherProgram(t *testing.T) {
	NewWithT(t).Expect(run(t.Context(), []string{"-program", "stepgate", "-dir", t.TempDir(), "-version", version,
		"-commit", commit, "-time", seconds, "-platforms", "linux/amd64"})).To(MatchError(`-program: there is no image of "stepgate"`))
}

func TestNothingIsAssembledWithoutAVersion(t *testing.T) {
	for _, missing := range []string{"-version", "-commit", "-time", "-platforms"} {
		args := []string{"-dir", t.TempDir()}
		for option, value := range map[string]string{"-version": version, "-commit": commit, "-time": seconds,
			"-platforms": "linux/amd64"} {
			if option != missing {
				args = append(args, option, value)
			}
		}
		NewWithT(t).Expect(run(t.Context(), args)).To(MatchError(ContainSubstring("are needed")), missing)
	}
}
