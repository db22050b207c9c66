// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestEveryPartIsThere fails when the rule has changed and a part of it cannot be taken out any more: CI takes few
// parts out.
func TestEveryPartIsThere(t *testing.T) {
	for _, p := range parts() {
		for _, e := range p.edits {
			text, err := os.ReadFile(filepath.Join("../../..", e.file))
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			_, err = e.apply(string(text))
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), "without %s", p.name)
		}
	}
}

// TestNamed fails for a name that no part has: CI would take nothing out, and find nothing wrong.
func TestNamed(t *testing.T) {
	g := NewWithT(t)
	found, err := named("A5,NotSynced")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(2))
	_, err = named("A5,Gone")
	g.Expect(err).To(MatchError(ContainSubstring(`no part "Gone"`)))
}
