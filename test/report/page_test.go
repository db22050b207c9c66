// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// to is the flag --results DIR.
func to(g Gomega, dir string) *Results {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	results := Flag(flags)
	g.Expect(flags.Parse([]string{"--results", dir})).To(Succeed())
	return results
}

// play is a run that prints a text and ends with a problem.
func play(g Gomega, dir string, suite Suite, text string, problem error) {
	page, err := to(g, dir).Page(suite)
	g.Expect(err).NotTo(HaveOccurred())
	page.Printer = To(page.text)
	_, err = io.WriteString(page, text)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(page.Close(problem)).To(Succeed())
}

// masked has what differs from run to run in capitals.
func masked(text string) string {
	for name, pattern := range map[string]string{
		"VERSION": `(\| version \| )\S+( \|)`, "COMMIT": `(\| commit \| )[0-9a-f]{40}( \|)`, "DATE": `(\| date \| )\d{4}-\d\d-\d\d \d\d:\d\d UTC( \|)`,
		"MACHINE": `(\| machine \| ).+, \d+ cores, [\d.]+ GiB( \|)`, "TOOK": `(\| took \| )[\dhms]+( \|)`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, "${1}"+name+"${2}")
	}
	return text
}

const header = "| | |\n|---|---|\n| command | `bin/one --fast` |\n| version | VERSION |\n| commit | COMMIT |\n| " +
	"machine | MACHINE |\n| date | DATE |\n| took | TOOK |\n"

func TestPage(t *testing.T) {
	const table = "| a | b |\n|---|---|\n| 1 | 2 |\n"
	for name, tc := range map[string]struct {
		text    string
		problem error
		want    string
	}{
		"a run that passed has its output below its facts": {
			text: "\na table:\n" + table + "\none: n=1\n",
			want: "| result | passed |\n\na table:\n\n" + table + "\n```text\none: n=1\n```\n",
		},
		"a run that failed says why, in the first line": {
			text: table, problem: errors.New("1 start too early | at once"),
			want: "| result | FAILED: 1 start too early \\| at once |\n\n" + table,
		},
		"a long reason has its first line in the table, and the rest below the output": {
			text: table, problem: errors.Join(errors.New("one"), errors.New("two")),
			want: "| result | FAILED: one |\n\n" + table + "\nWhy it failed:\n\n```text\none\ntwo\n```\n",
		},
		"a run that failed before it printed anything has a page": {
			problem: errors.New("etcd does not start"), want: "| result | FAILED: etcd does not start |\n",
		},
		"a run that was interrupted after its first result has a page": {
			text: table, problem: context.Canceled,
			want: "| result | FAILED: interrupted |\n\n" + table + "\nWhy it failed:\n\n```text\ninterrupted\ncontext canceled\n```\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, dir := NewWithT(t), t.TempDir()
			play(g, dir, Suite{Name: "one", Title: "tries it", Command: []string{"bin/one", "--fast"}}, tc.text, tc.problem)
			text, err := os.ReadFile(filepath.Join(dir, "one.md"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(masked(string(text))).To(Equal("# one: tries it\n\n<!-- Written by the suite; do not edit. -->\n" +
				header + tc.want))
		})
	}
}

func TestNothingIsWritten(t *testing.T) {
	suite := Suite{Name: "one", Command: []string{"one"}}
	for name, tc := range map[string]struct {
		text    string
		problem error
	}{
		"before the first result, by an interrupt":                      {"", context.Canceled},
		"after a heading, by an interrupt":                              {"\n## Argo CD v1\n\n", errors.Join(errors.New("etcd"), context.Canceled)},
		"in a folder that cannot take it, which leaves the old results": {"x\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, dir := NewWithT(t), t.TempDir()
			path := filepath.Join(dir, "one.md")
			page, err := to(g, dir).Page(suite)
			g.Expect(err).NotTo(HaveOccurred())
			page.Printer = To(page.text)
			page.Line("%s", tc.text)
			if tc.problem == nil {
				g.Expect(os.MkdirAll(filepath.Join(path, "in", "the", "way"), 0o755)).To(Succeed())
				g.Expect(page.Close(nil)).NotTo(Succeed())
			} else {
				g.Expect(os.WriteFile(path, []byte("old"), 0o644)).To(Succeed())
				g.Expect(page.Close(tc.problem)).To(Succeed())
				g.Expect(os.ReadFile(path)).To(BeEquivalentTo("old"))
			}
			files, err := os.ReadDir(dir)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(files).To(HaveLen(1), "no temporary file is left")
		})
	}
}

// A file that is replaced is never seen half written: readers of the old one keep it.
func TestReplace(t *testing.T) {
	g, path := NewWithT(t), filepath.Join(t.TempDir(), "page.md")
	g.Expect(os.WriteFile(path, []byte("old"), 0o644)).To(Succeed())
	reader, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = reader.Close() }()
	g.Expect(replace(path, "new and longer")).To(Succeed())
	g.Expect(io.ReadAll(reader)).To(BeEquivalentTo("old"))
	g.Expect(os.ReadFile(path)).To(BeEquivalentTo("new and longer"))
}

func TestSections(t *testing.T) {
	g, dir := NewWithT(t), t.TempDir()
	suite := func(section string) Suite {
		return Suite{Name: "one", Title: "tries it", Section: section, Command: []string{"bin/one", "--fast"}}
	}
	play(g, dir, suite("A"), "first\n", nil)
	play(g, dir, suite("B"), "second\n", errors.New("broken\n## no heading"))
	play(g, dir, suite("A"), "third\n", nil)
	text, err := os.ReadFile(filepath.Join(dir, "one.md"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(masked(string(text))).To(Equal("# one: tries it\n\n<!-- Written by the suite; do not edit. -->\n\n" +
		"## A\n\n" + header + "| result | passed |\n\n```text\nthird\n```\n\n" +
		"## B\n\n" + header + "| result | FAILED: broken |\n\n```text\nsecond\n```\n\nWhy it failed:\n\n```text\nbroken\n## no heading\n```\n"))
}

func TestFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	NewWithT(t).Expect(os.WriteFile(file, nil, 0o644)).To(Succeed())
	for name, tc := range map[string]struct{ dir, want string }{
		"no flag":                         {"", ""},
		"a folder of the checkout":        {"test/report", ""},
		"a folder that is not there":      {"test/nowhere", `^--results: there is no folder /.*/test/nowhere$`},
		"not the folder of the package":   {"record", `^--results: there is no folder /.*/record$`},
		"a file where a folder should be": {file, `^--results: .*not a directory$`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := to(g, tc.dir).Check()
			_, same := to(g, tc.dir).Page(Suite{})
			if tc.want == "" {
				g.Expect(errors.Join(err, same)).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(MatchRegexp(tc.want)))
			g.Expect(same).To(MatchError(MatchRegexp(tc.want)))
		})
	}
}

func TestMarkdown(t *testing.T) {
	const table = "| a |\n|---|\n| 1 |\n"
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                               {"\n\n", ""},
		"two tables":                            {table + "\n\n" + table, table + "\n" + table},
		"columns keep their blanks":             {"\n  kind  n\n early  1\n\n\nlate: n=2\n\n", "```text\n  kind  n\n early  1\n\n\nlate: n=2\n```\n"},
		"a caption ends what is before it":      {"n=1\na caption:\n" + table + "n=2\n", "```text\nn=1\n```\n\na caption:\n\n" + table + "\n```text\nn=2\n```\n"},
		"headings, one after the other":         {"## One\n## Two\nn=1\n", "## One\n\n## Two\n\n```text\nn=1\n```\n"},
		"a heading ends what is before it":      {"n=1\n\n## One\n\n" + table, "```text\nn=1\n```\n\n## One\n\n" + table},
		"a comment of a scenario is no heading": {"# EARLY x\n", "```text\n# EARLY x\n```\n"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(markdown(tc.text)).To(Equal(tc.want)) })
	}
}

func TestCommand(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a program of the checkout": {[]string{"/src/bin/e2e", "--argocd", "v3.5.7,v3.4.13"}, "bin/e2e --argocd v3.5.7,v3.4.13"},
		"a program of somewhere":    {[]string{"/usr/bin/x", "a b", "it's"}, `/usr/bin/x 'a b' 'it'\''s'`},
		"go test":                   {[]string{"/tmp/go-build1/b1/report.test", "-test.paniconexit0", "-test.timeout=1m0s", "-test.run=F4_", "-results", "x"}, "go test ./test/report -timeout=1m0s -run=F4_ -results x"},
		"go run":                    {[]string{"/tmp/go-build1/b1/exe/control", "-n", "5"}, "go run ./test/report -n 5"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(command("/src", tc.args)).To(Equal(tc.want)) })
	}
}

// The page of one suite does not make the checkout dirty for the next one; everything else does.
func TestDescribe(t *testing.T) {
	g, dir := NewWithT(t), t.TempDir()
	write := func(name, text string) {
		g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)).To(Succeed())
	}
	git := func(args ...string) {
		text, err := gitIn(dir, append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		g.Expect(err).NotTo(HaveOccurred(), text)
	}
	version := func() string {
		version, commit := describe(dir, filepath.Join(dir, "results"))
		g.Expect(commit).To(MatchRegexp("^[0-9a-f]{40}$"))
		return version
	}
	write("code.go", "1")
	write("results/one.md", "1")
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	git("tag", "v1")
	g.Expect(version()).To(Equal("v1"))
	write("results/one.md", "2")
	g.Expect(version()).To(Equal("v1"))
	write("code.go", "2")
	g.Expect(version()).To(Equal("v1-dirty"))
	none, commit := describe(t.TempDir(), "/")
	g.Expect(none + commit).To(Equal("unknownunknown"))
}

// The text of a failed assertion becomes one line.
func TestReasons(t *testing.T) {
	g := NewWithT(t)
	var passed Test
	passed.T = &testing.T{}
	g.Expect(passed.Reason()).NotTo(HaveOccurred())
	passed.keep("%s", "\nwrong allows\nExpected\n    <int>: 1\nto be zero-valued")
	g.Expect(passed.Reason()).To(MatchError("wrong allows Expected <int>: 1 to be zero-valued"))
	silent := Test{T: &testing.T{}}
	silent.Fail()
	g.Expect(silent.Reason()).To(MatchError("its output says why"))
}

func TestWithoutTheFlagNothingIsWritten(t *testing.T) {
	g := NewWithT(t)
	page, err := to(g, "").Page(Suite{Name: "one"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(page.Kept()).To(BeFalse())
	g.Expect(page.Close(errors.New("broken"))).To(Succeed())
	g.Expect("one.md").NotTo(BeAnExistingFile())
}
