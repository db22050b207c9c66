// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/doctor"
)

// The chart, the doctor and the pages name the same oldest Kubernetes, and `make kubernetes-versions` runs it.
func TestTheOldestKubernetes(t *testing.T) {
	g := NewWithT(t)
	oldest := fmt.Sprintf("1.%d", doctor.OldestMinor)
	g.Expect(read(g, "charts/stepgate/Chart.yaml")).To(ContainSubstring("\nkubeVersion: \">=" + oldest + ".0-0\"\n"))
	run := versionsThatAreRun(g)
	g.Expect(run[0]).To(HavePrefix("v" + oldest + "."))
	named := map[string]bool{}
	for page, text := range pages(g) {
		for _, match := range regexp.MustCompile(`Kubernetes\s(1\.\d+)\sor\slater`).FindAllStringSubmatch(text, -1) {
			g.Expect(match[1]).To(Equal(oldest), page)
			named[page] = true
		}
	}
	for _, page := range []string{"README.md", "docs/install.md", "charts/stepgate/README.md"} {
		g.Expect(named).To(HaveKey(page))
	}
}

// The table of docs/install.md has a row for each version that is run.
func TestTheTableOfVersionsOfKubernetes(t *testing.T) {
	g := NewWithT(t)
	install := read(g, "docs/install.md")
	for _, version := range versionsThatAreRun(g) {
		g.Expect(strings.Contains(install, "\n| "+version+" |")).To(BeTrue(), "a row for "+version)
	}
}

// versionsThatAreRun are those of the folders under test/tools, the oldest first, and the one of the other suites.
func versionsThatAreRun(g Gomega) []string {
	folders, err := filepath.Glob(filepath.Join(root, "test", "tools", "kubernetes-v*"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(folders).NotTo(BeEmpty())
	var versions []string
	for _, folder := range folders {
		versions = append(versions, strings.TrimPrefix(filepath.Base(folder), "kubernetes-"))
	}
	return append(versions, regexp.MustCompile(`(?m)^KUBERNETES_VERSION := (.*)$`).FindStringSubmatch(read(g,
		"Makefile"))[1])
}
