// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/dashboard"
)

// TestTheKeyIsKept for a week, in a file that only the user may read.
func TestTheKeyIsKept(t *testing.T) {
	g := NewWithT(t)
	dir, now := t.TempDir(), time.Now()
	t.Setenv("XDG_CACHE_HOME", dir)
	file := filepath.Join(dir, "stepgate", "dashboard.key")
	first := keptKey(now)
	g.Expect(len(first)).To(BeNumerically(">=", 26))
	info, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode()).To(BeEquivalentTo(0o600))
	g.Expect(keptKey(now)).To(Equal(first))
	second := keptKey(now.Add(dashboard.KeyFor + time.Minute))
	g.Expect(second).NotTo(Equal(first))

	for name, spoil := range map[string]func() error{
		"empty":    func() error { return os.WriteFile(file, nil, 0o600) },
		"readable": func() error { return os.Chmod(file, 0o644) },
		"a link": func() error {
			return os.Symlink(filepath.Join(t.TempDir(), "other"), file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			known := keptKey(now)
			if name == "a link" {
				g.Expect(os.Remove(file)).To(Succeed())
			}
			g.Expect(spoil()).To(Succeed())
			g.Expect(keptKey(now)).NotTo(Equal(known))
			info, err := os.Lstat(file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.Mode()).To(BeEquivalentTo(0o600))
		})
	}

	t.Setenv("XDG_CACHE_HOME", file)
	g.Expect(keptKey(now)).NotTo(Equal(keptKey(now)), "where no file can be written, it lasts as long as the program")
}
