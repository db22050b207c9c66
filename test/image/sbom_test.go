// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/gomega"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
)

// expectListed expects that an SBOM describes a binary by its checksum, and that this binary depends in it on exactly
// the modules that `go version -m` prints, each with its version.
func expectListed(t *testing.T, sbom, binary string) {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(binary)
	g.Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(content)
	text, err := os.ReadFile(sbom)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dependencies(g, text, hex.EncodeToString(sum[:]))).To(ConsistOf(printed(t, binary)))
}

// printed are the modules that `go version -m` prints, as "PATH VERSION": a line "=>" replaces the line before it. The
// first line has the version of Go, which is the version of the standard library.
func printed(t *testing.T, binary string) []string {
	t.Helper()
	g := NewWithT(t)
	text, err := exec.CommandContext(t.Context(), "go", "version", "-m", binary).Output()
	g.Expect(err).NotTo(HaveOccurred())
	lines := strings.Split(string(text), "\n")
	modules := []string{"stdlib " + strings.TrimPrefix(lines[0], binary+": ")}
	for _, line := range lines {
		switch words := append(strings.Fields(line), ""); words[0] {
		case "dep":
			modules = append(modules, words[1]+" "+words[2])
		case "=>":
			modules[len(modules)-1] = words[1] + " " + words[2]
		}
	}
	g.Expect(len(modules)).To(BeNumerically(">", 100), "does go version -m print the modules?")
	return modules
}

// dependencies are the packages that a binary depends on, as "NAME VERSION". The binary is the one that the document
// describes with this checksum.
func dependencies(g Gomega, text []byte, checksum string) (found []string) {
	document := &spdx.Document{}
	g.Expect(json.ReadInto(bytes.NewReader(text), document)).To(Succeed())
	packages := map[spdx.ElementID]*spdx.Package{}
	var binary spdx.ElementID
	for _, p := range document.Packages {
		g.Expect(packages).NotTo(HaveKey(p.PackageSPDXIdentifier), "two packages have one identifier")
		packages[p.PackageSPDXIdentifier] = p
		if len(p.PackageChecksums) == 1 && p.PackageChecksums[0].Value == checksum {
			binary = p.PackageSPDXIdentifier
			g.Expect(p.PackageVersion).To(Equal(version))
		}
	}
	g.Expect(binary).NotTo(BeEmpty(), "the SBOM has no package with the checksum of the binary")
	described := false
	for _, r := range document.Relationships {
		described = described || r.Relationship == "DESCRIBES" && r.RefA.ElementRefID == "DOCUMENT" &&
			r.RefB.ElementRefID == binary
		if p := packages[r.RefB.ElementRefID]; r.Relationship == "DEPENDS_ON" && r.RefA.ElementRefID == binary {
			found = append(found, p.PackageName+" "+p.PackageVersion)
		}
	}
	g.Expect(described).To(BeTrue())
	return found
}

func TestModulesOfAnSBOM(t *testing.T) {
	g := NewWithT(t)
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v2.0.0+incompatible", Sum: "h1:x="}},
	}}
	var locators []string
	for _, m := range linked(info) {
		p := library(m)
		g.Expect(string(p.PackageSPDXIdentifier)).To(MatchRegexp(`^[A-Za-z0-9.-]+$`))
		locators = append(locators, p.PackageExternalReferences[0].Locator+" "+p.PackageSourceInfo)
	}
	g.Expect(locators).To(Equal([]string{
		"pkg:golang/stdlib@1.26.8 ", "pkg:golang/example.com/new@v2.0.0%2Bincompatible go.sum: h1:x=",
	}))
}

func TestAnSBOMNeedsBuildInfo(t *testing.T) {
	g := NewWithT(t)
	r := madeUp(t)
	_, err := r.sbom()
	g.Expect(err).To(MatchError(ContainSubstring(r.binary(v1.Platform{OS: "linux", Architecture: "amd64"}))))
}
