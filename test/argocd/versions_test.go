// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/version"
)

const tools = "../tools/argocd-"

func TestEveryVersionHasAModuleThatBuildsIt(t *testing.T) {
	g := NewWithT(t)
	for _, version := range Versions() {
		text, err := os.ReadFile(filepath.Join(tools+version, "go.mod"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(ContainSubstring(module + " " + version + " "))
	}
	folders, err := filepath.Glob(tools + "*")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(folders).To(HaveLen(len(Versions())), "a module of a version that is not in Versions")
}

func TestTheDefaultVersionIsTheOneOfTheTypes(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile("../../go.mod")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring(module + " " + Versions()[0] + "\n"))
}

func TestLocateRefusesAnUnknownVersion(t *testing.T) {
	_, err := Locate("../..", "v1.0.0")
	NewWithT(t).Expect(err).To(
		MatchError("unknown version of Argo CD: v1.0.0 is not one of v3.5.7, v3.6.1, v3.4.13, v3.2.12"),
	)
}

func TestTheMakefileRunsTheSameVersions(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile("../../Makefile")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring("\nARGOCD_VERSION ?= "+Versions()[0]+"\n"), "the default version")
	oldest := slices.MinFunc(Versions(), func(a, b string) int {
		less, _ := version.MustParseSemantic(a).Compare(b)
		return less
	})
	g.Expect(string(text)).To(ContainSubstring("\nARGOCD_OLDEST := "+oldest+"\n"),
		"the oldest version, which CI runs as well")
}
