// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestKept plays the scenarios of testdata. Each shows one finding; as long as the finding is not repaired, it has to
// be found.
func TestKept(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			s, err := Read(file)
			g.Expect(err).NotTo(HaveOccurred())
			result := NewPlayer().Play(s, nil)
			for _, without := range s.Without {
				if strings.HasPrefix(without, "stranded") {
					g.Expect(result.Stranded).To(BeEmpty())
				}
			}
			if s.Expect == "" {
				g.Expect(append(violations(result), "")).To(Equal([]string{""}), "%s", result)
				return
			}
			g.Expect(violations(result)).To(ContainElement(s.Expect),
				"the finding is repaired, or the model has changed: correct the line \"expect\"")
		})
	}
}

// violations are the kinds that must not be.
func violations(r Result) []string {
	var found []string
	for _, kind := range r.Kinds() {
		if Wrong(kind) {
			found = append(found, kind)
		}
	}
	return found
}
