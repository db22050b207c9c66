// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// The commands that the steps take from pages are there, also where `make e2e-node` does not run.
func TestDocumentedCommands(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob("*.go")
	g.Expect(err).NotTo(HaveOccurred())
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, call := range regexp.MustCompile(`s\.documented\("([^"]+)",\s+"([^"]+)"`).FindAllStringSubmatch(string(text),
			-1) {
			page, err := os.ReadFile(filepath.Join("..", "..", call[1]))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(has(string(page), call[2])).To(BeTrue(), "%s has to have the command %q", call[1], call[2])
			found++
		}
	}
	g.Expect(found).To(Equal(4))
}
