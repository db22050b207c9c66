// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"io/fs"
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

// Row is a row of the table in test/results/README.md.
type Row struct {
	// Name is the record's file without its ending, and Link what the row links to; empty if it has no link.
	Name, Link string
	// Targets are the targets of make that it names. ByHand says that none of them writes the record.
	Targets []string
	ByHand  bool
}

// Record is the record of a suite.
type Record struct {
	Row
	// Commit is the oldest one that the file names for its runs; empty if one of them was not recorded.
	Commit string

	path, text string
	// changes is how many commits have changed the judged code since; -1 if that is not known.
	changes int
}

var (
	recordRow   = regexp.MustCompile(`(?m)^\| \[?([a-z0-9-]+)\.md(?:\]\(([^)]*)\))? \|.*\| ([^|]*) \|$`)
	makeTarget  = regexp.MustCompile("`make ([a-z0-9-]+)`")
	commitOfRun = regexp.MustCompile(`(?m)^\| commit \| (.+) \|$`)
	hash        = regexp.MustCompile(`\b[0-9a-f]{7,40}\b`)
	// markOfAge is the first line of a record that is older.
	markOfAge = regexp.MustCompile(`^> \*\*Older than the code:\*\* [^\n]*\n\n`)
)

// Rows reads the table in the text of test/results/README.md.
func Rows(readme string) (all []Row) {
	for _, row := range recordRow.FindAllStringSubmatch(readme, -1) {
		r := Row{Name: row[1], Link: row[2], ByHand: strings.HasPrefix(row[3], "nothing")}
		for _, target := range makeTarget.FindAllStringSubmatch(row[3], -1) {
			r.Targets = append(r.Targets, target[1])
		}
		all = append(all, r)
	}
	return all
}

// Records are the records of a checkout, written or not, in the order of the table.
func Records(root string) ([]Record, error) {
	folder := filepath.Join(root, "test", "results")
	readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, row := range Rows(string(readme)) {
		r := Record{Row: row, path: filepath.Join(folder, row.Name+".md"), changes: -1}
		text, err := os.ReadFile(r.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		r.text = string(text)
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

// Written reports whether there is such a file.
func (r *Record) Written() bool { return r.text != "" }

// Older reports whether the judged code has changed since, or may have, or the file is not there yet.
func (r *Record) Older() bool { return r.changes != 0 }

// Marked reports whether the first line of the file says that it is older.
func (r *Record) Marked() bool { return markOfAge.MatchString(r.text) }

// Since is how many commits have changed the judged code since.
func (r *Record) Since() string {
	switch {
	case !r.Written():
		return "not written yet"
	case r.changes < 0:
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
	if text == r.text || !r.Written() {
		return nil
	}
	return replace(r.path, text)
}
