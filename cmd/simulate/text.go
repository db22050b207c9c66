// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Text shows the report to people: the plan, the timeline and what came of it.
func (r *Report) Text(s screen.Screen) []string {
	lines := r.plan(s)
	lines = append(lines, "")
	if r.Commits != nil {
		lines = append(lines, r.Commits.text(s, r.options)...)
	} else {
		lines = append(lines, r.timeline(s)...)
		lines = append(lines, "")
		lines = append(lines, r.result(s)...)
	}
	lines = append(lines, "")
	for _, limit := range r.Limits {
		for _, line := range s.Wrap("", "", limit) {
			lines = append(lines, s.Paint(screen.Faint, line))
		}
	}
	return lines
}

// plan is the head: the steps and their Applications.
func (r *Report) plan(s screen.Screen) []string {
	with := "stepgate in mode " + r.Mode
	if r.options.Mode == settings.Off {
		with = "without stepgate"
	}
	lines := s.Wrap("", "  ", fmt.Sprintf("%s, Argo CD %s, %s, seed %d", policy.Called(r.ApplicationSet), r.ArgoCD,
		with, r.Seed))
	lines[0] = s.Paint(screen.Bold, lines[0])
	if r.annotated != "" {
		lines = append(lines, s.Wrap(screen.SignWarning+" ", "  ",
			fmt.Sprintf("Its annotation %s: %s sets the mode.", settings.ModeAnnotation, r.annotated))...)
	}
	if len(r.NotPlayed) > 0 {
		lines = append(lines, s.Wrap(screen.SignWarning+" ", "  ", r.Unknown())...)
	}
	if len(r.Dropped) > 0 {
		lines = append(lines, s.Wrap(screen.SignWarning+" ", "  ", fmt.Sprintf("The API server drops %s, so nothing of it "+
			"is played. stepgate lint says what to write.", list(r.Dropped, namedInLine)))...)
	}
	columns := []screen.Column{
		{Title: strings.ToUpper(kindOf(r.Steps[0].Wave))}, {Title: "MAXUPDATE"},
		{Title: "APPLICATIONS", Cuts: screen.AtEnd},
	}
	var rows [][]screen.Cell
	for _, step := range r.Steps {
		names := "none: the step is done at once"
		if n := len(step.Applications); n > 0 {
			names = list(step.Applications, namedInLine+1)
			if n > 1 {
				names = fmt.Sprintf("%d: %s", n, names)
			}
		}
		rows = append(rows, []screen.Cell{
			screen.Text(numberOf(step.Step, step.Wave)), screen.Text(most(step)), screen.Text(names),
		})
	}
	lines = append(lines, s.Table(0, columns, rows)...)
	if n := len(r.Unselected); n > 0 {
		lines = append(lines, s.Wrap(screen.SignWarning+" ", "  ",
			fmt.Sprintf("In no step: %s. Argo CD never syncs %s in a rollout.",
				list(r.Unselected, namedInLine), plural(n > 1, "it", "them")))...)
	}
	return lines
}

// most shows the maxUpdate of a step: as it is written, and what it means.
func most(step Step) string {
	if step.MaxUpdate == nil {
		return "all"
	}
	text := step.MaxUpdate.String()
	if step.MaxUpdate.Type == intstr.String {
		n, _ := argocd.MostAtOnce(step.MaxUpdate, len(step.Applications))
		text += fmt.Sprintf(" (%d)", n)
	}
	return text
}

// timeline shows what happens.
func (r *Report) timeline(s screen.Screen) []string {
	entries := r.entries()
	width := 0
	for _, x := range entries {
		width = max(width, len(clock(x.at)))
	}
	indent := strings.Repeat(" ", width+4)
	quotes := quotes{messages: map[string]bool{}, blockers: map[string]string{}}
	var lines []string
	for _, x := range entries {
		again, quote, known := quotes.of(x)
		if known {
			continue
		}
		sign, style := x.sign()
		text := x.text() + again
		head := fmt.Sprintf("%*s  ", width, clock(x.at))
		for i, line := range s.Wrap(head+sign+" ", indent, text) {
			if i == 0 {
				line = head + s.Paint(style, strings.TrimPrefix(line, head))
			} else {
				line = indent + s.Paint(style, strings.TrimPrefix(line, indent))
			}
			lines = append(lines, strings.TrimRight(line, " "))
		}
		if quote != "" {
			lines = append(lines, s.Wrap(indent+"\"", indent, quote+"\"")...)
		}
	}
	return lines
}

// quotes are the texts of stepgate that have been shown.
type quotes struct {
	messages map[string]bool
	// blockers are those that were shown last, by whom they block.
	blockers map[string]string
}

// why is what stands between parentheses: a reason and its detail.
var why = regexp.MustCompile(` \([^)]*\)`)

// of returns what to add to the line of an entry, and what to quote below it. Each text is quoted once. Of further
// texts about the same Applications, only other blockers are shown; where these are the same, the entry is known: their
// reasons change every moment.
func (q *quotes) of(x *entry) (again, quote string, known bool) {
	if !x.quoted() {
		return "", "", false
	}
	who := strings.Join(x.names, ",")
	if x.of > 0 {
		who = fmt.Sprint(x.step, x.why)
	}
	_, after, _ := strings.Cut(x.message, " not done: ")
	blockers, _, named := strings.Cut(after, ". Next: ")
	before, held := q.blockers[who]
	q.blockers[who] = why.ReplaceAllString(blockers, "")
	shown := q.messages[x.message]
	q.messages[x.message] = true
	switch {
	case held && named && before == q.blockers[who]:
		return "", "", true
	case shown:
		return ", for the same reason", "", false
	case held && named:
		return ", now because of " + blockers, "", false
	}
	return "", x.message, false
}
