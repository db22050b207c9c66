// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

// TestALead is a file of the user's own, in his home or, without one, where temporary files are.
func TestALead(t *testing.T) {
	home, temporary := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for name, where := range map[string]string{home: home, "": temporary, home + "/gone": temporary} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("HOME", name)
			l := leadTo("http://127.0.0.1:1/#token=a&b")
			g.Expect(l.err).NotTo(HaveOccurred())
			g.Expect(l.file).To(HavePrefix(where + "/stepgate-dashboard-"))
			text, err := os.ReadFile(l.file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).To(ContainSubstring(`url=http://127.0.0.1:1/#token=a&amp;b"`))
			l.remove()
			l.remove()
			g.Expect(os.ReadDir(where)).To(BeEmpty())
		})
	}
	lead{}.remove()
}

// TestWithoutALead nothing is opened.
func TestWithoutALead(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("HOME", "")
	t.Setenv("TMPDIR", "/nothing/there")
	l := leadTo("http://127.0.0.1:1/")
	g.Expect(l.open()).To(MatchError(os.ErrNotExist))
	l.remove()
}
