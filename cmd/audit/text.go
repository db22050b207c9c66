package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/stepgate/stepgate/cmd/screen"
)

// How much of long lists is shown without --output wide.
const (
	mostSets     = 20
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
	t.table(r)
	for i := range r.ApplicationSets {
		t.set(&r.ApplicationSets[i])
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
		return fmt.Sprintf("None of %s went out of order, as far as the records tell.", count(r.Totals.Rollouts, "rollout", "rollouts"))
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
		return fmt.Sprintf("None of %s has a strategy RollingSync with steps, so there is no order to keep.", count(r.WithoutSteps, "ApplicationSet", "ApplicationSets"))
	case len(r.ApplicationSets) == 0:
		return "There is no ApplicationSet here. Name another namespace with -n, or all with -A."
	case r.Totals.Rollouts == 0:
		words += " No sync is on record: look further back with --since, or see that revisionHistoryLimit of the Applications is not 0."
	case r.WithoutSteps > 0:
		words += " " + count(r.WithoutSteps, "other ApplicationSet has", "other ApplicationSets have") + " no steps."
	}
	return words
}

// table has a line for each ApplicationSet, those with findings first.
func (t *text) table(r *Report) {
	columns := []screen.Column{
		{Title: "APPLICATIONSET", Cuts: screen.InMiddle},
		{Title: "ROLLOUTS"},
		{Title: "OUT OF ORDER"},
		{Title: "BY HAND"},
		{Title: "UNCLEAR"},
		{Title: "IN ORDER"},
		{Title: "LONGEST"},
	}
	sets := slices.Clone(r.ApplicationSets)
	slices.SortStableFunc(sets, func(a, b ApplicationSet) int { return b.Totals.OutOfOrder - a.Totals.OutOfOrder })
	var rows [][]screen.Cell
	shown := t.most(len(sets), mostSets)
	for _, s := range sets[:shown] {
		rows = append(rows, row(s))
	}
	t.add("")
	t.add(t.Table(0, columns, rows)...)
	t.more(len(sets)-shown, "", "ApplicationSet", "ApplicationSets")
}

func row(s ApplicationSet) []screen.Cell {
	wrong, longest := screen.Text(fmt.Sprint(s.Totals.OutOfOrder)), "-"
	if s.Totals.OutOfOrder > 0 {
		wrong.Style = screen.Bad
		longest = span(s.Totals.LongestSeconds)
	}
	return []screen.Cell{
		screen.Text(s.Namespace + "/" + s.Name), screen.Text(fmt.Sprint(s.Totals.Rollouts)), wrong, screen.Text(fmt.Sprint(s.Totals.ByHand)),
		screen.Text(fmt.Sprint(s.Totals.Unclear)), screen.Text(fmt.Sprint(s.Totals.InOrder)), screen.Text(longest),
	}
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

// set tells what was found in an ApplicationSet; nothing if there is nothing to tell.
func (t *text) set(s *ApplicationSet) {
	if s.Totals.OutOfOrder+s.Totals.ByHand+s.Totals.Unclear == 0 && s.NotComparable+s.NotSelected == 0 {
		return
	}
	t.add("", t.Paint(screen.Bold, s.Namespace+"/"+s.Name))
	t.rollouts(s, OutOfOrder)
	t.rollouts(s, ByHand)
	for _, u := range s.Unclear {
		t.say("  "+t.Paint(screen.Busy, screen.SignWaiting)+" ", "    ", fmt.Sprintf("%s unclear: %s", isOrAre(u.Rollouts), u.Text))
		t.examples(s, u.Reason)
	}
	if s.Totals.OneStep > 0 {
		t.say("    ", "    ", fmt.Sprintf("%s on record in one step only", isOrAre(s.Totals.OneStep)))
	}
	if s.NotComparable > 0 {
		t.say("    ", "    ", count(s.NotComparable, "Application shares", "Applications share")+" no source with an earlier step: nothing to compare")
	}
	if s.NotSelected > 0 {
		t.say("    ", "    ", count(s.NotSelected, "Application is", "Applications are")+" in no step")
	}
}

// isOrAre is a number of rollouts with its verb.
func isOrAre(n int) string { return count(n, "rollout is", "rollouts are") }

// examples has two Applications of each rollout that is unclear for a reason: of the most suspicious one, unless everything is asked for.
func (t *text) examples(s *ApplicationSet, reason Reason) {
	if !t.wide && reason != MayHaveWaited {
		return
	}
	unclear := slices.DeleteFunc(slices.Clone(s.Rollouts), func(r Rollout) bool { return r.Verdict != Unclear || r.Reason != reason })
	shown := t.most(len(unclear), mostExamples)
	for _, r := range unclear[:shown] {
		t.say("      ", "        ", fmt.Sprintf("%s %s: %s (step %d) and %s (step %d)", clock(r.BeganAt), short(r.Revision),
			r.Example.Later, r.Example.LaterStep, r.Example.Earlier, r.Example.EarlierStep))
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
	t.say("  "+sign+" ", "    ", fmt.Sprintf("%s %s: %s of %s", clock(r.BeganAt), words, short(r.Revision), where(r)))
	shown := t.most(len(r.Early), mostEarly)
	for _, e := range r.Early[:shown] {
		t.say("      ", "        ", e.sentence()+".")
	}
	t.more(len(r.Early)-shown, "      ", "Application", "Applications")
}

// where is the source of a rollout.
func where(r *Rollout) string {
	if r.Chart != "" {
		return fmt.Sprintf("%s %s (%s)", r.Chart, r.TargetRevision, r.Repository)
	}
	return fmt.Sprintf("%s (%s)", strings.TrimSuffix(strings.TrimPrefix(r.Repository, "https://"), ".git"), r.TargetRevision)
}

// sentence says who started before whom.
func (e *Early) sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (step %d) started ", e.Application, e.Step)
	if e.Verdict == ByHand {
		fmt.Fprintf(&b, "by hand (%s) ", e.who())
	}
	last := e.Before[0]
	name := fmt.Sprintf("%s (step %d)", last.Application, last.Step)
	if e.BeforeCount > 1 {
		name += fmt.Sprintf(", the last of %d,", e.BeforeCount)
	}
	switch {
	case e.Seconds == nil:
		fmt.Fprintf(&b, "before %s has finished", name)
	case last.Outcome == Failed:
		fmt.Fprintf(&b, "%s before %s had failed", span(*e.Seconds), name)
	default:
		fmt.Fprintf(&b, "%s before %s had finished", span(*e.Seconds), name)
	}
	switch e.Outcome {
	case Failed:
		b.WriteString("; it failed")
	case Running:
		b.WriteString("; it still runs")
	case Succeeded:
	}
	return b.String()
}

// who is the user of a sync.
func (s *Sync) who() string {
	switch {
	case s.By != "":
		return s.By
	case s.Automated:
		return "automated sync"
	}
	return "user not recorded"
}

// short is a revision as people know it: 7 characters of a commit, and the whole version of a chart.
func short(revision string) string {
	if len(revision) >= 40 && !strings.Contains(revision, ":") {
		return revision[:7]
	}
	return screen.Cut(revision, 20)
}

// span is a length of time.
func span(seconds int64) string { return duration.HumanDuration(time.Duration(seconds) * time.Second) }

func clock(t metav1.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
