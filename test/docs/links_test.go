// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`)
	// label is a link in a heading: only its text counts.
	label   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	// published is how the chart links a file: it is read without the repository.
	published = regexp.MustCompile(`^https://github\.com/stepgate/stepgate/(?:blob|tree)/main/`)
	// inCode is a page that a comment or a message names.
	inCode = regexp.MustCompile(`(?:^|[^\w./-]|/blob/main/)(docs/[a-z-]+\.md)(#[a-z0-9-]+)?`)
)

// anchors are the anchors of a page's headings, as GitHub makes them.
func anchors(page string) []string {
	var all []string
	seen := map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		text := dropped.ReplaceAllString(strings.ToLower(label.ReplaceAllString(match[1], "$1")), "")
		name := strings.ReplaceAll(text, " ", "-")
		if n := seen[name]; n > 0 {
			all = append(all, name+"-"+strconv.Itoa(n))
		} else {
			all = append(all, name)
		}
		seen[name]++
	}
	return all
}

// links are the targets of a page's links, outside of code.
func links(page string) []string {
	var all []string
	for _, match := range link.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(page, ""), "`code`"),
		-1) {
		all = append(all, match[1])
	}
	return all
}

// broken says why a link of a page leads nowhere, or nothing. Links to other sites are not followed.
func broken(g Gomega, page, to string) string {
	local := published.ReplaceAllString(to, "")
	if local == to {
		if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
			return ""
		}
		local = filepath.Join(filepath.Dir(page), to)
		if strings.HasPrefix(to, "#") {
			local = page + to
		}
	}
	path, anchor, has := strings.Cut(local, "#")
	if _, err := os.Stat(filepath.Join(root, path)); err != nil {
		return "there is no " + path
	}
	if has && strings.HasSuffix(path, ".md") && !slices.Contains(anchors(read(g, path)), anchor) {
		return path + " has no heading #" + anchor
	}
	return ""
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	g := NewWithT(t)
	all := pages(g)
	paths, err := filepath.Glob(filepath.Join(root, "test", "results", "*.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, path := range paths {
		name := filepath.Join("test", "results", filepath.Base(path))
		all[name] = read(g, name)
	}
	for _, page := range slices.Sorted(maps.Keys(all)) {
		for _, to := range links(all[page]) {
			g.Expect(broken(g, page, to)).To(BeEmpty(), "%s links %s", page, to)
		}
	}
}

// TestEveryPageThatCodeNamesExists looks at comments and messages, and at the anchors that they name. This file has
// names that do not exist.
func TestEveryPageThatCodeNamesExists(t *testing.T) {
	g := NewWithT(t)
	found := 0
	for _, folder := range []string{"certs", "charts", "cmd", "config", "policy", "test", "webhook"} {
		g.Expect(filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() == "links_test.go" ||
				!slices.Contains([]string{".go", ".yaml", ".tpl", ".txt", ".sh"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range inCode.FindAllStringSubmatch(string(text), -1) {
				found++
				g.Expect(broken(g, "README.md", match[1]+match[2])).To(BeEmpty(), path)
			}
			return err
		})).To(Succeed())
	}
	g.Expect(found).To(BeNumerically(">", 20))
}

// source is a path of the sources in a page. One in capitals stands for many: policy/reason_NAME.go.
var source = regexp.MustCompile("`((?:policy|webhook|certs|cmd|test|config|charts)/[a-z0-9_./*-]+)`")

func TestEverySourceThatAPageNamesExists(t *testing.T) {
	g, found := NewWithT(t), 0
	for page, text := range pages(g) {
		for _, match := range source.FindAllStringSubmatch(text, -1) {
			files, err := filepath.Glob(filepath.Join(root, match[1]))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(files).NotTo(BeEmpty(), "%s names %s", page, match[1])
			found++
		}
	}
	g.Expect(found).To(BeNumerically(">", 30))
}

func TestAnchorsAndLinksOfAPage(t *testing.T) {
	g := NewWithT(t)
	page := "# A page: `--pin`, and [more](x.md)\n\n## Argo CD 3.6\n```sh\n# no heading\n```\n## Twice\n## Twice\nSee " +
		"[a](#twice), ![b](c.svg) and `[d](e)`.\n"
	g.Expect(anchors(page)).To(Equal([]string{"a-page---pin-and-more", "argo-cd-36", "twice", "twice-1"}))
	g.Expect(links(page)).To(Equal([]string{"x.md", "#twice", "c.svg"}))
	g.Expect(broken(g, "docs/argocd.md", "#what-it-does-not-do")).To(BeEmpty())
	g.Expect(broken(g, "docs/argocd.md", "#no-such")).To(Equal("docs/argocd.md has no heading #no-such"))
	g.Expect(broken(g, "docs/argocd.md", "no-such.md")).To(Equal("there is no docs/no-such.md"))
	g.Expect(broken(g, "charts/stepgate/README.md",
		"https://github.com/stepgate/stepgate/blob/main/docs/no.md")).To(Equal("there is no docs/no.md"))
	g.Expect(inCode.FindAllString("see docs/a.md#b, \"docs/c.md\" and x/docs/d.md",
		-1)).To(Equal([]string{" docs/a.md#b", `"docs/c.md`}))
}
