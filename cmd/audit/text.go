// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepgate/stepgate/cmd/screen"
)

// How much of long lists is shown without --output wide.
const (
	mostSets     = 20
	mostDetailed = 5
	mostRollouts = 5
	mostEarly    = 3
	mostExamples = 3
)

// text prints a Report for people.
type text struct {
	screen.Screen
	wide  bool
	lines []string
}

// Text is the report for people. It cuts long lists short, unless it is wide.
func Text(s screen.Screen, r *Report, wide bool) []string {
	t := &text{Screen: s, wide: wide}
	t.summary(r)
	if r.Totals.Rollouts == 0 {
		return t.lines
	}
	// Those with findings come first.
	sets := slices.Clone(r.ApplicationSets)
	slices.SortStableFunc(sets, func(a, b ApplicationSet) int {
		return cmp.Or(b.Totals.OutOfOrder-a.Totals.OutOfOrder, b.Totals.ByHand-a.Totals.ByHand)
	})
	t.table(sets)
	sets = slices.DeleteFunc(sets, func(s ApplicationSet) bool { return s.unremarkable() })
	shown := t.most(len(sets), mostDetailed)
	for i := range sets[:shown] {
		t.set(&sets[i])
	}
	if shown < len(sets) {
		t.add("")
		t.more(len(sets)-shown, "", "ApplicationSet with remarks", "ApplicationSets with remarks")
	}
	t.limits(r)
	return t.lines
}

func (t *text) add(lines ...string) { t.lines = append(t.lines, lines...) }

// say adds wrapped text.
func (t *text) say(first, rest, words string) { t.add(t.Wrap(first, rest, words)...) }

// summary is the answer in one sentence, and below it the extent of what was looked at.
func (t *text) summary(r *Report) {
	style, sign := screen.Good, screen.SignGood
	switch {
	case r.Totals.OutOfOrder > 0:
		style, sign = screen.Bad, screen.SignBad
	case r.Totals.InOrder == 0:
		style, sign = screen.Busy, screen.SignWaiting
	}
	t.say(t.Paint(style, sign)+" ", "  ", headline(r))
	t.say("  ", "  ", extent(r))
}

// headline is the answer.
func headline(r *Report) string {
	switch {
	case r.Totals.Rollouts == 0:
		return "There is no rollout to look at."
	case r.Totals.OutOfOrder == 0:
		return fmt.Sprintf("None of %s went out of order, as far as the records tell.",
			count(r.Totals.Rollouts, "rollout", "rollouts"))
	}
	return fmt.Sprintf("%d of %s went out of order.", r.Totals.OutOfOrder, count(r.Totals.Rollouts, "rollout", "rollouts"))
}

// extent is what was looked at, or why there was nothing.
func extent(r *Report) string {
	words := count(len(r.ApplicationSets), "ApplicationSet", "ApplicationSets") + " with steps"
	if r.Since == nil {
		words += "; everything on record."
	} else {
		words += "; since " + clock(*r.Since) + " UTC."
	}
	switch {
	case len(r.ApplicationSets) == 0 && r.WithoutSteps > 0:
		return fmt.Sprintf("None of %s has a strategy RollingSync with steps, or waves, so there is no order to keep.",
			count(r.WithoutSteps, "ApplicationSet", "ApplicationSets"))
	case len(r.ApplicationSets) == 0:
		return "There is no ApplicationSet here."
	case r.Totals.Rollouts == 0:
		words += " No sync is on record: look further back with --since, or see that revisionHistoryLimit of the " +
			"Applications is not 0."
	case r.Totals.FromLedger > 0:
		words += fmt.Sprintf(" %s told by stepgate's ledger: Argo CD's records do not reach back that far.",
			isOrAre(r.Totals.FromLedger))
	case r.WithoutSteps > 0:
		words += " " + count(r.WithoutSteps, "other ApplicationSet has", "other ApplicationSets have") + " no steps."
	}
	return words
}

// table has a line for each ApplicationSet.
func (t *text) table(sets []ApplicationSet) {
	columns := []screen.Column{
		{Title: "APPLICATIONSET", Cuts: screen.InMiddle},
		{Title: "OUT OF ORDER"}, {Title: "LONGEST"}, {Title: "BY HAND"}, {Title: "UNCLEAR"}, {Title: "IN ORDER"},
		{Title: "ONE STEP"},
	}
	var rows [][]screen.Cell
	shown := t.most(len(sets), mostSets)
	for _, s := range sets[:shown] {
		rows = append(rows, row(s))
	}
	t.add("")
	t.add(t.Table(0, columns, rows)...)
	t.more(len(sets)-shown, "", "ApplicationSet", "ApplicationSets")
}

// row has the totals of an ApplicationSet, which add up to its rollouts.
func row(s ApplicationSet) []screen.Cell {
	wrong, longest := screen.Text(fmt.Sprint(s.Totals.OutOfOrder)), "-"
	if s.Totals.OutOfOrder > 0 {
		wrong.Style = screen.Bad
	}
	if s.Totals.LongestSeconds > 0 {
		longest = span(s.Totals.LongestSeconds)
	}
	cells := []screen.Cell{screen.Text(s.Namespace + "/" + s.Name), wrong, screen.Text(longest)}
	for _, n := range []int{s.Totals.ByHand, s.Totals.Unclear, s.Totals.InOrder, s.Totals.OneStep} {
		cells = append(cells, screen.Text(fmt.Sprint(n)))
	}
	return cells
}

// most is how many of a list are shown.
func (t *text) most(n, most int) int {
	if t.wide || n <= most+1 {
		return n
	}
	return most
}

// more says how many are not shown.
func (t *text) more(n int, indent, one, many string) {
	if n > 0 {
		t.add(indent + t.Paint(screen.Faint, fmt.Sprintf("and %s; -o wide shows all", count(n, "more "+one, "more "+many))))
	}
}

// unremarkable says that there is nothing to tell about an ApplicationSet.
func (s *ApplicationSet) unremarkable() bool {
	return s.Totals.OutOfOrder+s.Totals.ByHand+s.Totals.Unclear+s.Partial+s.NotComparable+s.NotSelected == 0
}

// set tells what was found in an ApplicationSet.
func (t *text) set(s *ApplicationSet) {
	t.add("", t.Paint(screen.Bold, s.Namespace+"/"+s.Name))
	t.rollouts(s, OutOfOrder)
	t.rollouts(s, ByHand)
	for _, u := range s.Unclear {
		t.say("  "+t.Paint(screen.Busy, screen.SignWaiting)+" ", "    ",
			fmt.Sprintf("%s unclear: %s", isOrAre(u.Rollouts), u.Text))
		t.examples(s, u.Reason)
	}
	if s.Partial > 0 {
		t.say("    ", "    ", partial(s))
	}
	if s.NotComparable > 0 {
		t.say("    ", "    ", count(s.NotComparable, "Application shares",
			"Applications share")+" no source with an earlier step: nothing to compare")
	}
	if s.NotSelected > 0 {
		t.say("    ", "    ", count(s.NotSelected, "Application is", "Applications are")+" in no step")
	}
}

// isOrAre is a number of rollouts with its verb.
func isOrAre(n int) string { return count(n, "rollout is", "rollouts are") }

// examples has two Applications of each rollout that is unclear for a reason: of the most suspicious one, unless
// everything is asked for.
func (t *text) examples(s *ApplicationSet, reason Reason) {
	if !t.wide && reason != MayHaveWaited {
		return
	}
	unclear := slices.DeleteFunc(slices.Clone(s.Rollouts), func(r Rollout) bool {
		return r.Verdict != Unclear || r.Reason != reason
	})
	shown := t.most(len(unclear), mostExamples)
	for _, r := range unclear[:shown] {
		t.say("      ", "        ", fmt.Sprintf("%s %s: %s (%s) and %s (%s)", clock(r.BeganAt), short(r.Revision),
			r.Example.Later, stepName(r.Example.LaterStep, r.Example.Wave), r.Example.Earlier,
			stepName(r.Example.EarlierStep, r.Example.Wave)))
	}
	t.more(len(unclear)-shown, "      ", "such rollout", "such rollouts")
}

// rollouts tells of those with a verdict, the newest first.
func (t *text) rollouts(s *ApplicationSet, verdict Verdict) {
	var chosen []*Rollout
	for i := range s.Rollouts {
		if s.Rollouts[i].Verdict == verdict {
			chosen = append(chosen, &s.Rollouts[i])
		}
	}
	shown := t.most(len(chosen), mostRollouts)
	for _, r := range chosen[:shown] {
		t.rollout(r)
	}
	t.more(len(chosen)-shown, "  ", "such rollout", "such rollouts")
}

func (t *text) rollout(r *Rollout) {
	sign, words := t.Paint(screen.Bad, screen.SignBad), "out of order"
	if r.Verdict == ByHand {
		sign, words = t.Paint(screen.Busy, screen.SignWarning), "by hand"
	}
	t.say("  "+sign+" ", "    ", fmt.Sprintf("%s %s: %s %s", clock(r.BeganAt), words, short(r.Revision), where(r)))
	shown := t.most(len(r.Early), mostEarly)
	for _, e := range r.Early[:shown] {
		t.say("      ", "        ", e.sentence()+".")
	}
	t.more(len(r.Early)-shown, "      ", "Application", "Applications")
}
