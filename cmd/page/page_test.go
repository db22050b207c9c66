// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/page"
)

// The server's Content-Security-Policy permits neither inline scripts nor inline styles.
func TestTheDocumentHasNothingInline(t *testing.T) {
	g := NewWithT(t)
	html, err := fs.ReadFile(page.Files, "index.html")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(html)).NotTo(MatchRegexp(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?:\s+[^>]*)?>[^<]`))
	for _, name := range regexp.MustCompile(`(?:src|href)="([^":]+)"`).FindAllSubmatch(html, -1) {
		g.Expect(fs.Stat(page.Files, string(name[1]))).NotTo(BeNil())
	}
}

// TestThePageIsBuiltFromItsSources compares checksums, so that nobody needs npm to see a page that was not built again.
func TestThePageIsBuiltFromItsSources(t *testing.T) {
	g := NewWithT(t)
	files := []string{"build.mjs", "hostreact.mjs", "package-lock.json"}
	entries, err := os.ReadDir("src")
	g.Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		files = append(files, "src/"+entry.Name())
	}
	var sums strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), file)
	}
	built, err := fs.ReadFile(page.Files, "sources.txt")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(built)).To(Equal(sums.String()), "run make page")
}

// TestThePageIsSmall, as it is sent.
func TestThePageIsSmall(t *testing.T) {
	g := NewWithT(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for _, name := range []string{"index.html", "dashboard.js", "dashboard.css", "licences.txt"} {
		data, err := fs.ReadFile(page.Files, name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(data).NotTo(BeEmpty(), name)
		_, err = w.Write(data)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(w.Close()).To(Succeed())
	g.Expect(packed.Len()).To(BeNumerically("<", 300<<10))
}
