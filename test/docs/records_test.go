// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/report"
)

// decided are the pages by which users decide. The records that they rest on are in test/results.
var decided = []string{"docs/argocd.md", "docs/argocd-versions.md", "docs/scale.md", "docs/reliability.md"}

// mostWords is the number of words of these pages together, as wc -w counts them.
const mostWords = 2500

func TestThePagesByWhichUsersDecideAreShort(t *testing.T) {
	g := NewWithT(t)
	words := 0
	for _, page := range decided {
		words += len(strings.Fields(read(g, page)))
	}
	g.Expect(words).To(BeNumerically("<=", mostWords), "words of %s: move records to test/results",
		strings.Join(decided, ", "))
}

// mostForUsers are the words of all pages for users, and mostOfREADME those of the first one.
const mostForUsers, mostOfREADME = 16_250, 900

// notForUsers are pages that say how it works inside, and the front page of the site, which repeats the README.
var notForUsers = []string{
	"architecture.md", "mechanisms.md", "rule.md", "applicationsync.md", "new-argocd.md", "releasing.md", "index.md",
}

// Nobody reads more. What only those need who change stepgate is in notForUsers and CONTRIBUTING.md; what a program can
// write is in docs/reference.
func TestThePagesForUsersAreShort(t *testing.T) {
	g, words := NewWithT(t), 0
	for page, text := range pages(g) {
		forUsers := page == "README.md" || filepath.Dir(page) == "docs"
		if forUsers && !slices.Contains(notForUsers, filepath.Base(page)) {
			words += len(strings.Fields(text))
		}
	}
	g.Expect(words).To(BeNumerically("<=", mostForUsers), "words for users: say it shorter, or where it belongs")
	g.Expect(len(strings.Fields(read(g, "README.md")))).To(BeNumerically("<=", mostOfREADME), "words of README.md")
}

// mostWordsInAll bounds the words of README.md and of docs together. It leaves out docs/reference.
const mostWordsInAll = 22_300

func TestAllPagesAreShort(t *testing.T) {
	g, words := NewWithT(t), 0
	for page, text := range pages(g) {
		if page == "README.md" || filepath.Dir(page) == "docs" {
			words += len(strings.Fields(text))
		}
	}
	g.Expect(words).To(BeNumerically("<=", mostWordsInAll), "words of README.md and docs: say it once")
}

// Whoever begins to change stepgate reads these two.
func TestThePagesForDevelopersAreShort(t *testing.T) {
	g := NewWithT(t)
	for page, most := range map[string]int{"docs/architecture.md": 2200, "CONTRIBUTING.md": 1200} {
		g.Expect(len(strings.Fields(read(g, page)))).To(BeNumerically("<=", most),
			"words of %s: say it shorter, or in docs/mechanisms.md", page)
	}
}

// Whoever reads the rule has to keep it in mind.
func TestTheRuleIsShort(t *testing.T) {
	g := NewWithT(t)
	words := strings.Fields(tableMarks.ReplaceAllString(read(g, "docs/rule.md"), " "))
	g.Expect(len(words)).To(BeNumerically("<=", 1300), "words of docs/rule.md: say it shorter, or ask less")
}

// mostFlags and mostValues are the flags of `stepgate-webhook serve`, and the values of the chart. What nobody would set is
// a constant, and what Kubernetes has is passed on in a map: pod, container.
const mostFlags, mostValues = 44, 126

func TestThereIsLittleToSet(t *testing.T) {
	g := NewWithT(t)
	rows := func(page, row string) int { return len(regexp.MustCompile(`(?m)^\| `+"`"+row).FindAllString(page, -1)) }
	_, serve, found := strings.Cut(read(g, "docs/reference/flags.md"), "### stepgate-webhook serve\n")
	g.Expect(found).To(BeTrue())
	serve, _, _ = strings.Cut(serve, "\n### ")
	g.Expect(rows(serve, "--")).To(And(BeNumerically(">", 10), BeNumerically("<=", mostFlags)), "flags of the gate")
	values := rows(read(g, "docs/reference/values.md"), "")
	g.Expect(values).To(And(BeNumerically(">", 10), BeNumerically("<=", mostValues)), "values of the chart")
}

// tableMarks are the numbers of rows, and what separates cells.
var tableMarks = regexp.MustCompile(`(?m)^\| \d+ \||\||---`)

// A record tells of one run. It belongs into test/results: the next run makes it old. The changelog is a record.
func TestNoPageHasARecord(t *testing.T) {
	g := NewWithT(t)
	for page, text := range pages(g) {
		if page != "CHANGELOG.md" {
			g.Expect(records(text)).To(BeEmpty(), "%s: say what follows for users, and move the record to test/results", page)
		}
	}
}

var (
	// revision is a word that may be a commit, after a word that says so.
	revision = regexp.MustCompile("(?i)\\b(?:commits?|at)\\s+`?([0-9a-f]{7,40})\\b")
	// moment is an example of a value, in a code span: a record has a date alone.
	moment = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z`)
	ofARun = []*regexp.Regexp{
		regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`),
		regexp.MustCompile(`(?i)\bload\s+average\b`),
		regexp.MustCompile(`(?i)\ba\s+load\s+of\b`),
		regexp.MustCompile(`(?i)\bearlier\s+commits?\b`),
		regexp.MustCompile(`(?i)\b(?:this|the\s+same|an\s+earlier|a\s+later)\s+run\b`),
	}
)

// records are the words of a page, outside its fenced blocks, that tell of one run.
func records(page string) []string {
	page = fence.ReplaceAllString(page, "")
	page = inline.ReplaceAllStringFunc(page, func(span string) string { return moment.ReplaceAllString(span, "") })
	var found []string
	for _, match := range revision.FindAllStringSubmatch(page, -1) {
		if strings.ContainsAny(match[1], "0123456789") && strings.ContainsAny(strings.ToLower(match[1]), "abcdef") {
			found = append(found, match[0])
		}
	}
	for _, pattern := range ofARun {
		found = append(found, pattern.FindAllString(page, -1)...)
	}
	return found
}

func TestRecordsOfAPage(t *testing.T) {
	for text, want := range map[string][]string{
		"It was run at commit 44ff0a0.":                        {"commit 44ff0a0"},
		"It was run (commit\n`44ff0a0`).":                      {"commit\n`44ff0a0"},
		"The figures at 44ff0a0b":                              {"at 44ff0a0b"},
		"All passed on 2026-11-24.":                            {"2026-11-24"},
		"All passed on `2026-11-24`.":                          {"2026-11-24"},
		"The load average was 5":                               {"load average"},
		"On a machine with a load of 5, it took":               {"a load of"},
		"At an earlier\ncommit it failed":                      {"earlier\ncommit"},
		"No write was refused in this run.":                    {"this run"},
		"until `2026-11-24T10:00:00Z`":                         nil,
		"```text\ndone at 44ff0a0, 2026-11-24\n```\n":          nil,
		"  ```text\n  done at 44ff0a0\n  ```\n":                nil,
		"A commit added later, at 1000000 Applications, at ff": nil,
	} {
		NewWithT(t).Expect(records(text)).To(Equal(want), text)
	}
}

func TestEveryRecordIsExplained(t *testing.T) {
	g := NewWithT(t)
	rows := report.Rows(read(g, "test/results/README.md"))
	named := map[string]bool{}
	for _, r := range rows {
		named[r.Name+".md"] = true
	}
	needs := parse(makefiles(g)).needs
	paths, err := filepath.Glob(filepath.Join(root, "test", "results", "*"))
	g.Expect(err).NotTo(HaveOccurred())
	exists := map[string]bool{}
	for _, path := range paths {
		name := filepath.Base(path)
		if name == "README.md" {
			continue
		}
		exists[name] = true
		g.Expect(named).To(HaveKey(name), "test/results/README.md has no row for %s", name)
		text := read(g, filepath.Join("test", "results", name))
		g.Expect(text).To(MatchRegexp(`^(> \*\*Older than the code:\*\* .*\n\n)?# %s: `, strings.TrimSuffix(name, ".md")), name)
		for _, key := range []string{"command", "version", "commit", "machine", "date"} {
			g.Expect(text).To(MatchRegexp(`(?m)^\| %s \| .+ \|$`, key), "%s does not say its %s", name, key)
		}
	}
	g.Expect(exists).NotTo(BeEmpty())
	for _, r := range rows {
		link := ""
		if exists[r.Name+".md"] {
			link = r.Name + ".md"
		}
		g.Expect(r.Link).To(Equal(link), "test/results/README.md links %s if and only if it has been written", r.Name)
		g.Expect(r.Targets).NotTo(BeEmpty(), "test/results/README.md does not say which command writes %s", r.Name)
		for _, name := range r.Targets {
			g.Expect(needs).To(HaveKey(name), "test/results/README.md names `make %s`, which is not a target", name)
		}
	}
}

// A reader of a record sees first whether it is about this code.
func TestOlderRecordsSaySo(t *testing.T) {
	g := NewWithT(t)
	all, err := report.Records(root)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).NotTo(BeEmpty())
	for _, r := range all {
		if !r.Written() {
			continue
		}
		g.Expect(r.Marked()).To(Equal(r.Older()), "test/results/%s.md is of %s; commits that have changed policy or "+
			"webhook since: %s. Run `make records`, or at least `make records-mark`. It needs all commits: git fetch --unshallow", r.Name, r.Commit, r.Since())
	}
}
