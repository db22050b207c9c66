// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/ledger"
)

type text struct {
	screen.Screen
	now   time.Time
	lines []string
}

// Text is a History for people: of each ApplicationSet the last rollouts, up to most, the newest first. 0 is all.
func Text(s screen.Screen, h *History, most int) []string {
	t := &text{Screen: s, now: h.ReadAt.Time}
	for i, l := range h.ApplicationSets {
		if i > 0 {
			t.lines = append(t.lines, "")
		}
		t.log(l, most)
	}
	for _, p := range h.Problems {
		t.say("  ", "%s %s: %s", t.Paint(screen.Busy, screen.SignWaiting), p.ApplicationSet, policy.ClientText(p.Text))
	}
	return t.lines
}

func (t *text) say(indent, format string, args ...any) {
	t.lines = append(t.lines, t.Wrap(indent, indent+"  ", fmt.Sprintf(format, args...))...)
}

func (t *text) log(l *ledger.Log, most int) {
	t.lines = append(t.lines, fmt.Sprintf("%s, since %s UTC", l.Set, clock(l.Since)))
	if len(l.Rollouts) == 0 {
		t.say("  ", "no rollout has begun since")
	}
	shown := 0
	for i := range slices.Backward(l.Rollouts) {
		if shown == most && most > 0 {
			t.say("  ", "and %d older; --limit 0 shows all", i+1)
			return
		}
		t.rollout(&l.Rollouts[i])
		shown++
	}
}

func clock(at time.Time) string { return at.UTC().Format(time.DateTime) }

func span(d time.Duration) string { return duration.HumanDuration(d) }

// results are the signs and words of what became of a rollout.
var results = map[ledger.Result]struct {
	style      screen.Style
	sign, word string
}{
	"":                {screen.Busy, screen.SignWaiting, "under way for"},
	ledger.Complete:   {screen.Good, screen.SignGood, "complete after"},
	ledger.Superseded: {screen.Faint, "↷", "superseded after"},
}

func (t *text) rollout(r *ledger.Rollout) {
	result, back := results[r.Result], ""
	if r.Back {
		back = ", which was deployed before"
	}
	t.say("  ", "%s %s%s: %s %s, first compared %s UTC (%s)", t.Paint(result.style, result.sign),
		policy.ClientText(short(r.Revision)), back, result.word, span(took(r, t.now)), clock(r.ComparedAt),
		policy.ClientText(where(r.Source)))
	columns := []screen.Column{
		{Title: "STEP"}, {Title: "DONE"}, {Title: "STARTED"}, {Title: "COMPLETE"},
		{Title: "WAITED LONGEST FOR", Cuts: screen.AtEnd},
	}
	var rows [][]screen.Cell
	for i := range r.Steps {
		rows = append(rows, t.step(r, &r.Steps[i]))
	}
	t.lines = append(t.lines, t.Table(6, columns, rows)...)
	for i := range r.Steps {
		t.notes(&r.Steps[i])
	}
	for _, b := range r.Bypasses {
		t.say("      ", "bypassed since %s UTC: %s", clock(b.At), policy.ClientText(b.Why))
	}
}

// after is how long after the first comparison something happened.
func after(r *ledger.Rollout, at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return "+" + span(max(0, at.Sub(r.ComparedAt)))
}

func (t *text) step(r *ledger.Rollout, s *ledger.Step) []screen.Cell {
	complete, wait := after(r, s.CompletedAt), "-"
	if s.Skipped {
		complete = "skipped"
	}
	if w := longest(s, t.now); w != nil {
		wait = span(w.Took(t.now)) + ": " + policy.ClientText(w.For)
	}
	return []screen.Cell{
		screen.Text(cell(s)), screen.Text(fmt.Sprintf("%d/%d", s.Done, s.Applications)),
		screen.Text(after(r, s.StartedAt)), screen.Text(complete), screen.Text(wait),
	}
}

// notes are what people have done, and what has failed.
func (t *text) notes(s *ledger.Step) {
	for _, a := range s.Approvals {
		t.say("      ", "%s: approved by %s, %s UTC", s.Name(), policy.ClientText(a.By), clock(a.At))
	}
	for _, e := range s.Evidence {
		t.say("      ", "%s: %s says %s%s", s.Name(), policy.ClientText(e.Object), e.Answer, detail(e.Detail))
	}
	if len(s.By) > 0 {
		t.say("      ", "%s: synced by hand by %s", s.Name(), policy.ClientText(strings.Join(s.By, ", ")))
	}
	for _, f := range s.Failures {
		repaired := "not repaired"
		if !f.RepairedAt.IsZero() {
			repaired = "repaired after " + span(f.RepairedAt.Sub(f.At))
		}
		t.say("      ", "%s %s: %s: %s, %s UTC; %s", t.Paint(screen.Bad, screen.SignBad), s.Name(),
			policy.ClientText(f.Application), policy.ClientText(f.What), clock(f.At), repaired)
	}
}

func detail(text string) string {
	if text == "" {
		return ""
	}
	return ": " + policy.ClientText(text)
}
