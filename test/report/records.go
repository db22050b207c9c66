// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// judged is the code that the records are about.
var judged = []string{"policy", "webhook"}

// Record is a file of test/results.
type Record struct {
	// Name is that of the file, without its ending.
	Name string
	// Commit is the oldest one that the file names for its runs; empty if one of them was not recorded.
	Commit string
	// Targets are the targets of make that write it, as the page of the folder names them.
	Targets []string

	path, text string
	// changes is how many commits have changed the judged code since; -1 if that is not known.
	changes int
}

var (
	commitOfRun = regexp.MustCompile(`(?m)^\| commit \| (.+) \|$`)
	hash        = regexp.MustCompile(`\b[0-9a-f]{7,40}\b`)
	recordRow   = regexp.MustCompile(`(?m)^\| \[?([a-z0-9-]+)\.md.*\| ([^|]*) \|$`)
	makeTarget  = regexp.MustCompile("`make ([a-z0-9-]+)`")
	// markOfAge is the first line of a record that is older.
	markOfAge = regexp.MustCompile(`^> \*\*Older than the code:\*\* [^\n]*\n\n`)
)

// Records are the records of a checkout, by name.
func Records(root string) ([]Record, error) {
	folder := filepath.Join(root, "test", "results")
	readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		return nil, err
	}
	targets := map[string][]string{}
	for _, row := range recordRow.FindAllStringSubmatch(string(readme), -1) {
		if strings.HasPrefix(row[2], "nothing") {
			continue // it is done by hand
		}
		for _, target := range makeTarget.FindAllStringSubmatch(row[2], -1) {
			targets[row[1]] = append(targets[row[1]], target[1])
		}
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		if name == "README" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r := Record{Name: name, Targets: targets[name], path: path, text: string(text), changes: -1}
		if err := r.date(root); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// date finds out how old a record is. A commit that this checkout does not have says nothing.
func (r *Record) date(root string) error {
	runs := commitOfRun.FindAllStringSubmatch(r.text, -1)
	for _, run := range runs {
		commit := hash.FindString(run[1])
		if commit == "" {
			r.Commit, r.changes = "", -1
			return nil
		}
		if _, err := gitIn(root, "cat-file", "-e", commit+"^{commit}"); err != nil {
			r.Commit, r.changes = "", -1
			return nil
		}
		count, err := gitIn(root, slices.Concat([]string{"rev-list", "--count", commit + "..HEAD", "--"}, judged)...)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		changes, err := strconv.Atoi(count)
		if err != nil {
			return err
		}
		if changes > r.changes {
			r.Commit, r.changes = commit[:7], changes
		}
	}
	return nil
}

// Older reports whether the judged code has changed since, or may have.
func (r *Record) Older() bool { return r.changes != 0 }

// Marked reports whether the first line of the file says that it is older.
func (r *Record) Marked() bool { return markOfAge.MatchString(r.text) }

// Since is how many commits have changed the judged code since.
func (r *Record) Since() string {
	if r.changes < 0 {
		return "not known"
	}
	return strconv.Itoa(r.changes)
}

// Mark writes the first line, or takes it away.
func (r *Record) Mark(now time.Time) error {
	text := markOfAge.ReplaceAllString(r.text, "")
	if r.Older() {
		on, what := now.UTC().Format(time.DateOnly), strings.Join(judged, "` and `")
		says := fmt.Sprintf("the commit of a run in it was not recorded (as of %s).", on)
		if r.changes > 0 {
			says = fmt.Sprintf("from its oldest run to %s, %d commits have changed `%s`.", on, r.changes, what)
		}
		text = "> **Older than the code:** " + says + "\n\n" + text
	}
	if text == r.text {
		return nil
	}
	return replace(r.path, text)
}
