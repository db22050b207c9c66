// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Every page is in one group of the site's sidebar. A group may name a page that is still to be written.
func TestEveryPageIsInOneGroupOfTheSite(t *testing.T) {
	g := NewWithT(t)
	var groups map[string][]string
	g.Expect(json.Unmarshal([]byte(read(g, "docs/.vitepress/groups.json")), &groups)).To(Succeed())
	var grouped []string
	for _, pages := range groups {
		grouped = append(grouped, pages...)
	}
	slices.Sort(grouped)
	g.Expect(slices.Compact(slices.Clone(grouped))).To(Equal(grouped), "a page is in two groups")
	found := 0
	for path := range pages(g) {
		name, inDocs := strings.CutPrefix(strings.TrimSuffix(path, ".md"), "docs/")
		if inDocs && name != "index" {
			g.Expect(grouped).To(ContainElement(name), "docs/.vitepress/groups.json has no group for %s", path)
			found++
		}
	}
	g.Expect(found).To(BeNumerically(">", 20))
}

// name is an annotation, a label or another name of stepgate in the code.
var name = regexp.MustCompile(`"(stepgate\.io/[a-z-]+)"`)

func TestEveryNameIsInTheReference(t *testing.T) {
	g, found := NewWithT(t), 0
	page := read(g, "docs/reference/annotations.md") + read(g, "docs/reference/events.md")
	for _, pattern := range []string{"webhook/*.go", "webhook/*/*.go", "certs/*.go", "cmd/*/*.go", "policy/*.go"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		g.Expect(err).NotTo(HaveOccurred())
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			path, err := filepath.Rel(root, path)
			g.Expect(err).NotTo(HaveOccurred())
			for _, match := range name.FindAllStringSubmatch(read(g, path), -1) {
				g.Expect(page).To(ContainSubstring("`"+match[1]+"`"), "%s: docs/reference/annotations.md lacks it", path)
				found++
			}
		}
	}
	g.Expect(found).To(BeNumerically(">", 15))
}
