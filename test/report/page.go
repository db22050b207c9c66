// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// temporary is the pattern of the names of files that become pages.
const temporary = ".results-*"

// Suite says what a page is about.
type Suite struct {
	// Name is the name of the file, without its ending, and Title says in a line what the suite is.
	Name, Title string
	// Section is the part of the page that a run writes, where a suite has several kinds of runs. The other sections
	// stay as they are.
	Section string
	// Command is the command line, if it is not the one of this process.
	Command []string
}

// Page is what a run of a suite prints at its end, to stdout and into a file.
type Page struct {
	*Printer
	suite  Suite
	folder string
	text   *bytes.Buffer
	began  time.Time
	facts  [][2]string
}

// Page begins a page, and with it the time that the run takes. It returns an error if the page could not be written.
func (r *Results) Page(suite Suite) (*Page, error) {
	root, folder, err := r.find()
	if err != nil {
		return nil, err
	}
	p := &Page{suite: suite, folder: folder, text: &bytes.Buffer{}, began: time.Now()}
	p.Printer = To(io.MultiWriter(os.Stdout, p.text))
	if folder != "" {
		version, commit := describe(root, folder)
		line := strings.Join(quoted(suite.Command), " ")
		p.facts = [][2]string{
			{"command", "`" + cmp.Or(line, command(root, os.Args)) + "`"},
			{"version", version}, {"commit", commit}, {"machine", Machine()}, {
				"date", p.began.UTC().Format("2006-01-02 15:04 UTC"),
			},
		}
	}
	return p, nil
}

// Kept says that Close writes a file.
func (p *Page) Kept() bool { return p.folder != "" }

// Close writes the page of a run that has ended with a problem, or without one. A run that was interrupted
// (context.Canceled) before it printed a result leaves the page as it was.
func (p *Page) Close(problem error) error {
	if !p.Kept() || errors.Is(problem, context.Canceled) && !hasResults(p.text.String()) {
		return nil
	}
	path := filepath.Join(p.folder, p.suite.Name+".md")
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replace(path, p.render(string(before), problem))
}

// render is the file with this page in it.
func (p *Page) render(before string, problem error) string {
	head, own := "# "+p.suite.Name+": "+p.suite.Title+"\n\n<!-- Written by the suite; do not edit. -->\n", p.run(problem)
	if p.suite.Section == "" {
		return head + own
	}
	heading := "## " + p.suite.Section + "\n"
	own = heading + "\n" + own
	all := sections(before)
	if i := slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(s, heading) }); i >= 0 {
		all[i] = own
	} else {
		all = append(all, own)
	}
	for i := range all {
		all[i] = strings.TrimRight(all[i], "\n") + "\n"
	}
	return head + "\n" + strings.Join(all, "\n")
}

// run is one run: its facts, and what it printed.
func (p *Page) run(problem error) string {
	result, why := outcome(problem)
	facts := append(slices.Clone(p.facts), [2]string{
		"took", time.Since(p.began).Round(time.Second).String(),
	}, [2]string{"result", result})
	var out strings.Builder
	out.WriteString("| | |\n|---|---|\n")
	for _, fact := range facts {
		fmt.Fprintf(&out, "| %s | %s |\n", fact[0], strings.ReplaceAll(fact[1], "|", `\|`))
	}
	for _, block := range []string{markdown(p.text.String()), why} {
		if block != "" {
			out.WriteString("\n" + block)
		}
	}
	return out.String()
}

// mostReason is how many bytes of an error the table has.
const mostReason = 250

// outcome is the result in one line, and the whole error, if that line does not have all of it.
func outcome(problem error) (result, why string) {
	if problem == nil {
		return "passed", ""
	}
	text := strings.TrimSpace(problem.Error())
	if errors.Is(problem, context.Canceled) {
		text = "interrupted\n" + text
	}
	first, _, _ := strings.Cut(text, "\n")
	if len(first) > mostReason {
		first = strings.ToValidUTF8(first[:mostReason], "") + " …"
	}
	if first != text {
		why = "Why it failed:\n\n" + fenced(text)
	}
	return "FAILED: " + first, why
}

// replace writes a file whole, or leaves it as it is.
func replace(path, text string) error {
	file, err := os.CreateTemp(filepath.Dir(path), temporary)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}
