// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/cmd/screen"
)

// Lines is the report as text: an ApplicationSet after the other, each with its findings, the worst first, and a
// summary in the last line.
func (r *Report) Lines(s screen.Screen) []string {
	var lines []string
	for _, result := range r.ApplicationSets {
		lines = append(lines, result.lines(s)...)
		lines = append(lines, "")
	}
	for _, f := range r.Failures {
		lines = append(lines, s.Wrap(s.Paint(screen.Bad, screen.SignBad+" not read")+" ", "  ", f.Error())...)
	}
	if len(r.Failures) > 0 {
		lines = append(lines, "")
	}
	return append(lines, s.Wrap("", "  ", r.Summary.String()+r.gaps())...)
}

func (r Result) lines(s screen.Screen) []string {
	title := r.title()
	if r.File != "" {
		title = r.File + ": " + title
	}
	size := " (" + r.size() + ")"
	if r.Kind != "" && !r.ByWaves {
		size = ""
	}
	lines := s.Wrap("", "  ", title+size)
	lines[0] = strings.Replace(lines[0], title, s.Paint(screen.Bold, title), 1)
	for _, f := range r.Findings {
		head, style := f.head()
		lines = append(lines, "  "+s.Paint(style, head)+" "+f.at())
		lines = append(lines, "    "+s.Paint(screen.Faint, f.Path))
		lines = append(lines, s.Wrap("    ", "    ", f.Message)...)
		lines = append(lines, s.Wrap("    ", "    ", "Do: "+f.Remedy)...)
	}
	switch {
	case len(r.Findings) > 0:
	case r.AllApplications || r.Kind != "":
		lines = append(lines, "  "+s.Paint(screen.Good, screen.SignGood)+" nothing found")
	default: // most of what lint finds is about its Applications
		lines = append(lines, "  "+screen.SignWaiting+" nothing found in its own text")
	}
	for _, gap := range r.NotChecked {
		lines = append(lines, s.Wrap("  "+screen.SignWaiting+" not checked: ", "    ", gap.Message)...)
	}
	return lines
}

// size is the number of steps, or the waves, and the number of Applications.
func (r Result) size() string {
	order := count(r.Steps, "step")
	switch {
	case r.ByWaves && len(r.Waves) > 0:
		order = "by sync " + waveNames(numbers(r.Waves))
	case r.ByWaves:
		order = "by sync waves"
	}
	if r.AllApplications {
		return order + ", " + count(r.Applications, "Application")
	}
	return order + ", " + count(r.Applications, "known Application")
}

// head is the sign and the severity.
func (f Finding) head() (string, screen.Style) {
	switch f.Severity {
	case Error:
		return screen.SignBad + " error", screen.Bad
	case Warning:
		return screen.SignWarning + " warning", screen.Busy
	case Note:
	}
	return screen.SignWaiting + " note", screen.Plain
}

// at is the rule, and the line.
func (f Finding) at() string {
	if f.Line == 0 {
		return f.Rule
	}
	return fmt.Sprintf("%s, line %d", f.Rule, f.Line)
}

// String is the summary in one line: 2 errors, 1 warning in 3 ApplicationSets.
func (s Summary) String() string {
	var found []string
	for _, f := range []struct {
		n    int
		word string
	}{{s.Errors, "error"}, {s.Warnings, "warning"}, {s.Notes, "note"}} {
		if f.n > 0 {
			found = append(found, count(f.n, f.word))
		}
	}
	if len(found) == 0 {
		found = []string{"nothing found"}
	}
	text := strings.Join(found, ", ") + " in " + count(s.ApplicationSets, "ApplicationSet")
	if s.Applications > 0 {
		text += " and " + count(s.Applications, "Application")
	}
	var skipped []string
	if s.WithoutSteps > 0 {
		skipped = append(skipped, fmt.Sprintf("%d without steps", s.WithoutSteps))
	}
	if s.OtherObjects > 0 {
		skipped = append(skipped, count(s.OtherObjects, "other object")+" skipped")
	}
	if len(skipped) > 0 {
		text += " (" + strings.Join(skipped, ", ") + ")"
	}
	return text
}

// gaps names what could not be checked, each once, with the number of ApplicationSets.
func (r *Report) gaps() string {
	counts := map[string]int{}
	var subjects []string
	for _, result := range r.ApplicationSets {
		for _, gap := range result.NotChecked {
			if counts[gap.Subject] == 0 {
				subjects = append(subjects, gap.Subject)
			}
			counts[gap.Subject]++
		}
	}
	slices.SortStableFunc(subjects, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	for i, subject := range subjects {
		if counts[subject] > 1 {
			subjects[i] = fmt.Sprintf("%s (%d)", subject, counts[subject])
		}
	}
	text := ""
	if len(subjects) > 0 {
		text = "; not checked: " + strings.Join(subjects, ", ")
	}
	if len(r.Failures) > 0 {
		text += "; not read: " + count(len(r.Failures), "document")
	}
	return text
}
