// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/cmd/screen"
)

// sign is how a result looks. The word is for those who do not know the sign.
var signs = map[Result]struct {
	sign  string
	style screen.Style
}{
	OK:      {screen.SignGood, screen.Good},
	Warning: {screen.SignWarning, screen.Busy},
	Problem: {screen.SignBad, screen.Bad},
	Unknown: {"?", screen.Busy},
	Skipped: {"-", screen.Faint},
}

// nameWidth is the width of the column of names.
const nameWidth = 20

// Lines is the report for people.
func (r *Report) Lines(s screen.Screen) []string {
	var lines []string
	subject, group := "", ""
	for _, c := range r.Checks {
		if c.Subject != subject {
			if subject != "" {
				lines = append(lines, "")
			}
			lines = append(lines, s.Paint(screen.Bold, c.Subject))
			subject, group = c.Subject, ""
		}
		if c.Group != group {
			lines = append(lines, "  "+s.Paint(screen.Bold, c.Group))
			group = c.Group
		}
		lines = append(lines, c.lines(s)...)
	}
	lines = append(lines, "")
	if r.upgrades() {
		lines = append(lines, s.Wrap("", "", "CHART is what you installed from, such as ./charts/stepgate.")...)
	}
	return append(lines, r.summary(s)...)
}

func (c Check) lines(s screen.Screen) []string {
	look := signs[c.Result]
	indent := strings.Repeat(" ", 4+nameWidth)
	name := c.Name + strings.Repeat(" ", max(0, nameWidth-2-screen.Length(c.Name)))
	lines := s.Wrap("  "+s.Paint(look.style, look.sign)+" "+name+"  ", indent, c.Found)
	if c.Result == Skipped {
		for i := range lines {
			lines[i] = s.Paint(screen.Faint, lines[i])
		}
	}
	for _, d := range c.Details {
		lines = append(lines, s.Wrap(indent+"- ", indent+"  ", d)...)
	}
	// The check of the rights has the remedy for every right that is missing.
	if c.Remedy != "" && c.Remedy != askForRight {
		lines = append(lines, s.Wrap(indent+"→ ", indent+"  ", c.Remedy)...)
	}
	return append(lines, upgradeLines(s, indent, c.Commits, c.Commands)...)
}

// upgradeLines are commits and commands. What is there to be copied has little before it.
func upgradeLines(s screen.Screen, indent string, commits []Commit, commands []string) []string {
	var lines []string
	for _, commit := range commits {
		lines = append(lines, s.Wrap(indent, indent, "Commit to "+commit.Into+":")...)
		for line := range strings.SplitSeq(commit.Values, "\n") {
			lines = append(lines, "    "+line)
		}
	}
	for _, command := range commands {
		lines = append(lines, commandLine(command))
	}
	return lines
}

// commandLine has a command alone on a line, with little before it: it is there to be copied, and so never broken.
func commandLine(command string) string { return "    $ " + command }

// upgrades reports whether a command needs the chart.
func (r *Report) upgrades() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool {
		return slices.ContainsFunc(c.Commands, func(command string) bool { return strings.Contains(command, " CHART ") })
	})
}

// summary is last, because a terminal shows the last lines.
func (r *Report) summary(s screen.Screen) []string {
	if !r.Found() && r.Summary[Unknown] == 0 {
		return []string{
			s.Paint(screen.Good, screen.SignGood+" All is well.") + fmt.Sprintf(" %d checks were made.", len(r.Checks)),
		}
	}
	var parts []string
	for _, p := range []struct {
		result    Result
		one, more string
	}{{Problem, "problem", "problems"}, {Warning, "warning", "warnings"}, {Unknown, "not checked", "not checked"}} {
		if n := r.Summary[p.result]; n > 0 {
			parts = append(parts, s.Paint(signs[p.result].style, signs[p.result].sign+" "+count(n, p.one, p.more)))
		}
	}
	text := strings.Join(parts, ", ") + fmt.Sprintf(", of %d checks.", len(r.Checks))
	switch {
	case r.Summary[OK] == 0:
		return []string{text + " Nothing could be checked."}
	case !r.Found():
		return []string{text + " The others are fine."}
	}
	return []string{text}
}
