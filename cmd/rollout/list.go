// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
)

// Lines shows each rollout in one line, those first about which somebody has to do something. Those of several namespaces
// have a column for it. wide adds the revision and never cuts.
func (l *List) Lines(s screen.Screen, now time.Time, namespaces, wide bool) []string {
	columns := []screen.Column{
		{Title: "NAMESPACE"}, {Title: "NAME", Cuts: screen.InMiddle}, {Title: "STEP"}, {Title: "DONE"}, {Title: "STATUS"},
		{Title: "SINCE"}, {Title: "WAITING FOR", Cuts: screen.AtEnd},
	}
	if wide {
		s.Width = 0
		columns = append(columns, screen.Column{Title: "REVISION"})
	}
	if !namespaces {
		columns = columns[1:]
	}
	var rows [][]screen.Cell
	sorted := slices.SortedStableFunc(slices.Values(l.Items), func(a, b *Rollout) int {
		return cmp.Compare(a.Urgency().rank(), b.Urgency().rank())
	})
	for _, r := range sorted {
		row := []screen.Cell{
			screen.Text(r.Namespace), screen.Text(r.Name), screen.Text(r.step()),
			screen.Text(fmt.Sprintf("%d/%d", r.Done, r.Total)), r.status(),
			screen.Text(r.since(now)), screen.Text(r.WaitingFor()),
		}
		if r.Phase == Ungated {
			row[2], row[3] = screen.Text("-"), screen.Text("-")
		}
		if wide {
			row = append(row, screen.Text(shortAll(r.Revisions)))
		}
		if !namespaces {
			row = row[1:]
		}
		rows = append(rows, row)
	}
	return s.Table(0, columns, rows)
}

// step is the current step of all: 2/3, or wave 20 (2/3).
func (r *Rollout) step() string {
	if r.Step == 0 {
		return fmt.Sprintf("%d/%d", len(r.Steps), len(r.Steps))
	}
	place := fmt.Sprintf("%d/%d", r.Step, len(r.Steps))
	if step := &r.Steps[r.Step-1]; step.Wave != nil {
		return step.Name() + " (" + place + ")"
	}
	return place
}

// Status is the phase, and whether a step is paused beside that.
func (r *Rollout) Status() string {
	if r.paused() && (len(r.Needs) == 0 || r.Needs[0].Reason != string(policy.Paused)) {
		return string(r.Phase) + ", paused"
	}
	return string(r.Phase)
}

// status is Status with signs.
func (r *Rollout) status() screen.Cell {
	text := map[Urgency]string{
		NeedsYou: "Needs you", WaitsByItself: "Waits", AtWork: "Running", Finished: string(r.Phase),
	}[r.Urgency()]
	if r.paused() {
		text += ", paused"
	}
	cell := screen.Cell{Text: sign(r.Phase) + " " + text, Style: style(r.Phase)}
	if len(r.Exempt) > 0 {
		cell.Text += " " + screen.SignWarning
	}
	return cell
}

func sign(p Phase) string {
	return map[Phase]string{
		Complete: screen.SignGood, Progressing: screen.SignBusy, Waiting: screen.SignWaiting, Ungated: "-",
	}[p]
}

func style(p Phase) screen.Style {
	return map[Phase]screen.Style{
		Complete: screen.Good, Progressing: screen.Busy, Waiting: screen.Bad, Ungated: screen.Faint,
	}[p]
}

// since is the age of what waits.
func (r *Rollout) since(now time.Time) string {
	if r.Since == nil {
		return ""
	}
	return Age(now.Sub(r.Since.Time))
}

// Age is a duration as kubectl shows it.
func Age(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

// paused reports whether one of its steps is, and a gate keeps it.
func (r *Rollout) paused() bool {
	return !r.Open && slices.ContainsFunc(r.Steps, func(s Step) bool {
		return slices.ContainsFunc(s.Conditions, func(c Condition) bool {
			return !c.Met && c.Reason == string(policy.Paused)
		})
	})
}

// why is the reason with its detail.
func (b *Blocker) why() string { return because(b.Reason, b.Detail) }

func because(reason, detail string) string {
	if detail == "" {
		return reason
	}
	return reason + ": " + detail
}

func shortAll(revisions []string) string {
	var all []string
	for _, r := range revisions[:min(len(revisions), 3)] {
		all = append(all, policy.Short(r))
	}
	if more := len(revisions) - 3; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

// Line says in one line where the rollout is, for logs and pipelines. It holds no age.
func (r *Rollout) Line() string {
	step := "step " + r.step()
	switch {
	case !r.Waves:
	case r.Step == 0:
		step = "waves " + r.step()
	default:
		step = r.step()
	}
	text := fmt.Sprintf("%s/%s: %s, %s, %d of %d done", r.Namespace, r.Name, r.Phase, step, r.Done, r.Total)
	if waiting := r.WaitingFor(); waiting != "" {
		text += ", waiting for: " + waiting
	}
	return text
}
