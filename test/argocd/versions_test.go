package argocd

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
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
	NewWithT(t).Expect(err).To(MatchError("unknown version of Argo CD: v1.0.0 is not one of v3.5.7, v3.6.1"))
}
