// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/outlook"
)

// needsOf are the needs of an ApplicationSet, which has these waves.
func needsOf(found []outlook.Need, set *argocd.ApplicationSet, by waves) (all []Need) {
	for i := range found {
		n := needOf(&found[i].Need, set, by)
		n.Holds, n.Held = found[i].Holds, found[i].Held
		all = append(all, n)
	}
	return all
}

// needOf is a need as people see it. It may be one of another ApplicationSet than the one whose waves are known.
func needOf(n *policy.Need, set *argocd.ApplicationSet, by waves) Need {
	if n.ApplicationSet != set.Namespace+"/"+set.Name {
		by = nil
	}
	return Need{
		Reason: string(n.Reason), Actor: string(n.Actor), ApplicationSet: n.ApplicationSet, Step: by.number(n.Step),
		Wave: waveOf(n.Step), Application: n.Application, Text: n.Text, Do: n.Do, Command: n.Command(),
		Verb: verbOf(n), Until: timeOf(n.Until),
	}
}

// verbOf is what the dashboard can do about a need.
func verbOf(n *policy.Need) string {
	switch {
	case n.Reason == policy.Paused:
		return "resume"
	case n.Reason == policy.NotApproved:
		return "approve"
	case strings.HasSuffix(n.Command(), "--refresh"):
		return "refresh"
	}
	return ""
}

// same reports whether both are the same need.
func (n Need) same(other Need) bool {
	return n.Text == other.Text && n.ApplicationSet == other.ApplicationSet
}

// holds says whose syncs wait for it: it holds prod-1 and 3 more.
func (n *Need) holds() string {
	verb := "holds"
	if n.open {
		verb = "would hold"
	}
	switch n.Holds {
	case 0:
		return ""
	case 1:
		return "it " + verb + " " + n.Held[0]
	}
	return fmt.Sprintf("it %s %s and %d more", verb, n.Held[0], n.Holds-1)
}

// line is the need in one line, with whom it holds.
func (n *Need) line() string {
	text := n.Text
	if holds := n.holds(); holds != "" {
		text += "; " + holds
	}
	return text
}

// needsYou are the needs about which somebody has to do something.
func needsYou(all []Need) int {
	n := 0
	for n < len(all) && all[n].Actor == string(policy.You) {
		n++
	}
	return n
}

// mostNeeds is how many needs are shown.
const mostNeeds = 3

// needLines show needs, with what to do about those that need somebody.
func needLines(s screen.Screen, all []Need) (lines []string) {
	you := needsYou(all)
	if you > 0 {
		lines = append(lines, "", s.Paint(screen.Bold, "What needs you"))
	}
	for i, n := range all[:min(you, mostNeeds)] {
		lines = append(lines, s.Wrap(fmt.Sprintf("  %d. ", i+1), "     ", n.line())...)
		if n.Do != "" {
			lines = append(lines, s.Wrap("     Do: ", "     ", n.Do)...)
		}
	}
	if more := you - mostNeeds; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	if others := all[you:]; len(others) > 0 {
		text := "It waits by itself for " + others[0].line()
		if more := len(others) - 1; more > 0 {
			text += fmt.Sprintf(", and for %d more", more)
		}
		lines = append(lines, "")
		lines = append(lines, s.Wrap("", "  ", text)...)
	}
	return lines
}

// WaitingFor is the first need, and how many more there are.
func (r *Rollout) WaitingFor() string {
	if len(r.Needs) == 0 {
		return ""
	}
	text := r.Needs[0].Text
	if more := len(r.Needs) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// rank orders urgencies.
func (u Urgency) rank() int {
	return slices.Index([]Urgency{NeedsYou, WaitsByItself, AtWork, Finished}, u)
}

// Urgency says who has to do something about it.
func (r *Rollout) Urgency() Urgency {
	switch {
	case len(r.Needs) > 0 && r.Needs[0].Actor == string(policy.You):
		return NeedsYou
	case r.Phase == Complete, r.Phase == Ungated && len(r.Needs) == 0:
		return Finished
	case len(r.Needs) > 0 && r.Needs[0].Actor == string(policy.Time):
		return WaitsByItself
	}
	return AtWork
}
