// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
)

const (
	// mostBlockers and mostEvents are how many are shown.
	mostBlockers = 10
	mostEvents   = 5
)

// ordering names what orders Applications, by its namespace/name: an ApplicationSet, or a parent.
func ordering(s screen.Screen, set string) string {
	namespace, name, _ := strings.Cut(set, "/")
	if parent, is := policy.ParentNamed(name); is {
		return s.Paint(screen.Bold, "Parent") + "          " + namespace + "/" + parent
	}
	return s.Paint(screen.Bold, "ApplicationSet") + "  " + set
}

// Lines shows an Explanation.
func (e *Explanation) Lines(s screen.Screen, now time.Time) []string {
	lines := []string{
		s.Paint(screen.Bold, "Application") + "     " + e.Namespace + "/" + e.Application + "  " + e.Health + ", " + e.Sync,
	}
	if e.ApplicationSet != "" {
		where := "in no step"
		switch {
		case e.Steps == 0:
			where = "without steps"
		case e.Step > 0:
			where = placeOf(e.Step, e.Wave, e.Steps)
		}
		lines = append(lines, ordering(s, e.ApplicationSet)+", "+where)
	}
	lines = append(lines, "")
	lines = append(lines, e.verdict(s)...)
	lines = append(lines, e.candidateLines(s)...)
	lines = append(lines, e.conditionLines(s)...)
	lines = append(lines, e.needs(s)...)
	lines = append(lines, e.facts(s)...)
	return append(lines, e.events(s, now)...)
}

// Verdict is the answer, in one or two sentences.
func (e *Explanation) Verdict() string {
	sync := map[Writer]string{
		ApplicationSetController: "A sync by the ApplicationSet controller", AutoSync: "An automated sync",
		User: "This operation",
	}[e.By]
	if e.By == User && (e.ApplicationSet == "" || e.Wave != nil) {
		sync = "A sync that somebody asks for"
	}
	if e.Outcome == Held && e.By == User {
		return sync + " is held now: it is left out of the write, and has to be asked for again in its turn."
	}
	if e.Outcome == Held && e.Reason == string(policy.AlreadySynced) {
		return "Its sync was terminated, and nobody starts it again until somebody asks for it, or another commit comes."
	}
	if e.Outcome == Idle && len(e.Own) > 0 {
		return "It has been synced in its turn, and is not done."
	}
	if e.Outcome == Audited && e.noGate != "" {
		return sync + " is let through now although it is too early: " + e.noGate + "."
	}
	return map[Outcome]string{
		Running:  "An operation runs now. It was let through: the gate judges an operation when it is written.",
		Idle:     "It has been synced in its turn. Argo CD has nothing to sync, and nothing waits.",
		Allowed:  sync + " may start now.",
		NotGated: sync + " may start now: the gate has no say in it.",
		Audited:  sync + " is let through now although it is too early: the gate is in audit mode, and only records it.",
		Held: sync + " is held now. It starts by itself when its turn comes. A sync by a person is refused with the " +
			"text below.",
		Refused: sync + " is refused now.",
	}[e.Outcome]
}

// verdict is Verdict with a sign, and what the reason means.
func (e *Explanation) verdict(s screen.Screen) []string {
	mark, style := screen.SignGood, screen.Good
	switch e.Outcome {
	case Running:
		mark, style = screen.SignBusy, screen.Busy
	case Audited:
		mark, style = screen.SignWarning, screen.Busy
	case Held:
		mark, style = screen.SignWaiting, screen.Bad
	case Refused:
		mark, style = screen.SignBad, screen.Bad
	case Idle, Allowed, NotGated:
	}
	if len(e.Own) > 0 && e.Outcome == Idle {
		mark, style = screen.SignBad, screen.Bad
	}
	lines := s.Wrap(s.Paint(style, mark)+" ", "  ", e.Verdict())
	if len(e.Blockers) == 0 && e.Reason != "" && e.Outcome != Running && e.Outcome != Idle {
		lines = append(lines, s.Wrap("  ", "  ", e.Reason+": "+e.Means)...)
	}
	return lines
}

// needs are what the sync waits for, and what others wait for about the Application.
func (e *Explanation) needs(s screen.Screen) []string {
	lines := e.listed(s, "What keeps it from being done", e.Own)
	if e.Outcome == Idle || e.Outcome == Running {
		return lines
	}
	return append(lines, e.listed(s, "What it waits for, in the order in which to act", slices.DeleteFunc(
		slices.Clone(e.Needs), func(n Need) bool { return slices.ContainsFunc(e.Own, n.same) }))...)
}

func (e *Explanation) listed(s screen.Screen, title string, needs []Need) []string {
	if len(needs) == 0 {
		return nil
	}
	lines := []string{"", s.Paint(screen.Bold, title)}
	for i, n := range needs[:min(len(needs), mostBlockers)] {
		number := fmt.Sprintf("  %d. ", i+1)
		indent := strings.Repeat(" ", len(number))
		lines = append(lines, s.Wrap(number, indent, n.line())...)
		if n.Application == e.Application && e.Says != "" {
			lines = append(lines, s.Wrap(indent, indent, "Argo CD: "+e.Says)...)
		}
		for _, b := range e.Blockers {
			if b.Application == n.Application && b.Says != "" {
				lines = append(lines, s.Wrap(indent, indent, "Argo CD: "+b.Says)...)
			}
		}
		if n.Do != "" {
			lines = append(lines, s.Wrap(indent+"Do: ", indent, n.Do)...)
		}
	}
	if more := len(needs) - mostBlockers; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more; -o yaml lists all", more))
	}
	return lines
}

// in names a cluster, if it is not the one in which Argo CD runs.
func in(cluster string) string {
	if cluster == "" {
		return ""
	}
	return ", cluster " + cluster
}

func (e *Explanation) facts(s screen.Screen) []string {
	lines := []string{""}
	fact := func(name, text string) {
		title := s.Paint(screen.Bold, name) + strings.Repeat(" ", 14-len(name))
		lines = append(lines, s.Wrap(title, strings.Repeat(" ", 14), text)...)
	}
	if len(e.Revisions) > 0 && e.Outcome == Idle {
		fact("Compared with", shortAll(e.Revisions))
	} else if len(e.Revisions) > 0 {
		text := shortAll(e.Revisions)
		switch {
		case e.Reason == string(policy.Paused):
			text += ", unless Argo CD has compared it with something newer by then"
		case e.Pinned:
			text += ", named in the operation, and the same at every retry"
		default:
			text += ", or what the branch points to when the sync starts: the operation names no commit"
		}
		fact("Deploys", text)
	}
	if e.Deployed != "" {
		fact("Deployed", e.Deployed)
	}
	if e.Says != "" {
		fact("Argo CD says", e.Says)
	}
	if e.Message != "" {
		fact("Text", e.Message)
	}
	for _, text := range e.Exempt {
		fact("Not gated", text)
	}
	for _, text := range e.Problems {
		fact("Problem", text)
	}
	if e.Starves != "" {
		fact("Starves", e.Starves)
	}
	fact("Judged by", e.Settings)
	if e.Gate != "" {
		fact("The gate says", e.Gate)
	}
	for _, b := range e.Blockers {
		if strings.HasPrefix(b.Detail, policy.ChangeUnseen) {
			fact("Note", "this command knows no past. A stepgate that has watched "+b.Application+" may know that Argo CD "+
				"has compared it since, and then does not wait for it.")
			break
		}
	}
	return lines
}

func (e *Explanation) events(s screen.Screen, now time.Time) []string {
	if len(e.Events) == 0 {
		return nil
	}
	lines := []string{"", s.Paint(screen.Bold, "Events of the gate")}
	var rows [][]screen.Cell
	for _, event := range e.Events[:min(len(e.Events), mostEvents)] {
		rows = append(rows, []screen.Cell{
			screen.Text(Age(now.Sub(event.Time.Time))), screen.Text(event.Reason), screen.Text(event.Note),
		})
	}
	return append(lines, s.Table(2, []screen.Column{{}, {}, {Cuts: screen.AtEnd}}, rows)...)
}
