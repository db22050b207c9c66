// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestRecords has a checkout with a record before a change of policy, one after it, and one that names no commit.
func TestRecords(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	git := func(args ...string) string {
		text, err := gitIn(root, args...)
		g.Expect(err).NotTo(HaveOccurred())
		return text
	}
	write := func(path, text string) {
		path = filepath.Join(root, path)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	}
	commit := func() string {
		git("add", ".")
		git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "c")
		return git("rev-parse", "HEAD")
	}
	g.Expect(exec.CommandContext(t.Context(), "git", "init", "-q", root).Run()).To(Succeed())
	write("policy/a.go", "a")
	first := commit()
	write("policy/a.go", "b")
	second := commit()
	write("README.md", "neither policy nor webhook")
	write("test/results/README.md", "| [old.md](old.md) | x | `make old`, `make older` |\n| [walk.md](walk.md) | y | nothing; it begins with `make build` |\n"+
		"| [new.md](new.md) | z | `make new` |\n| next.md | not written yet | `make next` |\n")
	write("test/results/new.md", "# new: n\n\n| commit | "+second+" |\n")
	write("test/results/old.md", "# old: o\n\n| commit | "+second+" |\n\n| commit | "+first[:8]+"; again "+second+" |\n")
	write("test/results/walk.md", "# walk: w\n\n| commit | not recorded |\n")
	commit()

	all, err := Records(root)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(HaveLen(4))
	byName := map[string]Record{}
	for _, r := range all {
		byName[r.Name] = r
	}
	before, old, walk := byName["new"], byName["old"], byName["walk"]
	g.Expect(before.Older()).To(BeFalse())
	g.Expect([]any{old.Older(), old.Since(), old.Commit}).To(Equal([]any{true, "1", first[:7]}))
	g.Expect(old.Targets).To(Equal([]string{"old", "older"}))
	g.Expect([]any{walk.Older(), walk.Since(), walk.ByHand}).To(Equal([]any{true, "not known", true}))
	next := byName["next"]
	g.Expect([]any{next.Older(), next.Written(), next.Since()}).To(Equal([]any{true, false, "not written yet"}))

	on := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
	for range 2 {
		for _, r := range all {
			g.Expect(r.Mark(on)).To(Succeed())
		}
		all, err = Records(root)
		g.Expect(err).NotTo(HaveOccurred())
	}
	for name, want := range map[string]string{
		"new":  "# new: n\n",
		"old":  "> **Older than the code:** from its oldest run to 2026-11-30, 1 commits have changed `policy` and `webhook`.\n\n# old: o\n",
		"walk": "> **Older than the code:** the commit of a run in it was not recorded (as of 2026-11-30).\n\n# walk: w\n",
	} {
		text, err := os.ReadFile(filepath.Join(root, "test", "results", name+".md"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(HavePrefix(want))
	}
	g.Expect(next.Mark(on)).To(Succeed())
	g.Expect(filepath.Join(root, "test", "results", "next.md")).NotTo(BeAnExistingFile())
}
