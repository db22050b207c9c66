// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/screen"
)

const (
	// mostRows is how many Applications of a step are shown one by one, unless all are asked for.
	mostRows = 8
	// fewestRows is how many there are where the conditions of the step take many lines.
	fewestRows = 2
)

// Tree shows one rollout: its steps, and of each step the Applications that are not done. all shows every Application.
func (r *Rollout) Tree(s screen.Screen, now time.Time, all bool) []string {
	lines := r.head(s, now)
	for i := range r.Steps {
		conditions := r.Steps[i].conditions(s, r.Step)
		lines = append(lines, "", r.Steps[i].head(s, r))
		lines = append(lines, r.Steps[i].running(s)...)
		lines = append(lines, conditions...)
		lines = append(lines, r.Steps[i].rows(s, r, max(fewestRows, mostRows-len(conditions)), all)...)
	}
	if n := len(r.Unselected); n > 0 {
		lines = append(lines, "")
		text := fmt.Sprintf("%d Applications are in no step, and are not gated: %s", n, listed(r.Unselected))
		if n == 1 {
			text = "1 Application is in no step, and is not gated: " + r.Unselected[0]
		}
		lines = append(lines, s.Wrap(s.Paint(screen.Busy, screen.SignWarning)+" ", "  ", text)...)
	}
	return append(lines, needLines(s, r.Needs)...)
}

func (r *Rollout) head(s screen.Screen, now time.Time) []string {
	status := string(r.Phase)
	switch {
	case r.Phase == Ungated && len(r.After) > 0:
		status = "it has no steps of RollingSync, and comes after others"
	case r.Phase == Ungated:
		status = "it has no steps of RollingSync: there is no order to keep"
	case r.Step > 0:
		status += ": " + r.Steps[r.Step-1].place(len(r.Steps))
	}
	if since := r.since(now); since != "" && r.Step > 0 {
		status += " for " + since
	}
	lines := []string{
		ordering(s, r.Namespace+"/"+r.Name),
		s.Paint(screen.Bold, "Status") + "          " + s.Paint(style(r.Phase), sign(r.Phase)+" "+status),
	}
	if r.Total > 0 {
		lines = append(lines, s.Paint(screen.Bold, "Done")+fmt.Sprintf("            %d of %d Applications", r.Done, r.Total))
	}
	if len(r.Revisions) > 0 {
		lines = append(lines, s.Paint(screen.Bold, "Compared with")+"   "+shortAll(r.Revisions))
	}
	lines = append(lines, r.afterLines(s)...)
	for _, text := range r.Exempt {
		lines = append(lines, s.Wrap(s.Paint(screen.Bold, "Not gated")+"       ", "                ", text)...)
	}
	if r.Starves != "" {
		lines = append(lines, s.Wrap(s.Paint(screen.Busy, screen.SignWarning)+" ", "  ", "Starves: "+r.Starves)...)
	}
	for _, text := range r.Problems {
		lines = append(lines, s.Wrap(s.Paint(screen.Busy, screen.SignWarning)+" ", "  ", text)...)
	}
	return lines
}

func (step *Step) head(s screen.Screen, r *Rollout) string {
	phase := Waiting
	switch {
	case len(step.Applications) == 0:
		phase = Ungated
	case step.Done == len(step.Applications):
		phase = Complete
	case step.Number == r.Step:
		phase = r.Phase
	}
	text, rest := step.Name(), ""
	if step.Selector != "" {
		rest = "  " + step.Selector
	}
	if step.MaxUpdate != "" {
		rest += "  maxUpdate " + step.MaxUpdate
	}
	done := fmt.Sprintf("  %d/%d done", step.Done, len(step.Applications))
	if len(step.Applications) == 0 {
		done = "  no Applications"
	}
	if step.Done == len(step.Applications) && step.Done > 0 {
		if shared := step.revision(); shared != "" {
			done += " at " + shared
		}
	}
	if s.Width > 0 {
		rest = screen.Cut(rest, s.Width-len(text)-2-screen.Length(done))
	}
	return s.Paint(style(phase), sign(phase)) + " " + s.Paint(screen.Bold, text) + rest + s.Paint(style(phase), done)
}

// revision is what all Applications of the step are compared with; empty where they differ.
func (step *Step) revision() string {
	first := step.Applications[0].Revisions
	for _, a := range step.Applications {
		if !slices.Equal(a.Revisions, first) {
			return ""
		}
	}
	return shortAll(first)
}

// rows are the Applications that are not done, and those about which the ApplicationSet controller is wrong. The others
// are counted.
func (step *Step) rows(s screen.Screen, r *Rollout, most int, all bool) []string {
	current, track := r.Step, r.Track
	var shown []*Application
	done, waiting := 0, 0
	for i := range step.Applications {
		a := &step.Applications[i]
		switch {
		case all:
		case a.Done && a.Differs == "":
			done++
			continue
		case a.Track != "" && a.MayStart:
		case step.Number != current && a.Differs == "" && !a.Syncing && !a.broken():
			waiting++
			continue
		}
		shown = append(shown, a)
	}
	more := 0
	if !all && len(shown) > most {
		slices.SortStableFunc(shown, func(a, b *Application) int { return a.urgency() - b.urgency() })
		more = len(shown) - (most - 1)
		shown = shown[:most-1]
	}
	var cells [][]screen.Cell
	for _, a := range shown {
		cells = append(cells, a.cells())
	}
	columns := []screen.Column{{}, {Cuts: screen.InMiddle}, {}, {}, {}, {Cuts: screen.AtEnd}}
	if track != "" {
		columns = slices.Insert(columns, 2, screen.Column{})
		for i, a := range shown {
			cells[i] = slices.Insert(cells[i], 2, a.trackCell(track))
		}
	}
	lines := s.Table(2, columns, cells)
	for i := len(shown) - 1; i >= 0; i-- {
		if shown[i].Differs != "" {
			note := s.Paint(screen.Busy, screen.SignWarning) + " "
			text := "ApplicationSet controller: " + shown[i].Differs
			lines = slices.Insert(lines, i+1, s.Wrap("      "+note, "        ", text)...)
		}
	}
	return append(lines, step.others(s, more, done, waiting)...)
}

// others counts the Applications that have no row.
func (step *Step) others(s screen.Screen, more, done, waiting int) []string {
	var texts []string
	count := func(n int, text string) {
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, text))
		}
	}
	if step.Done < len(step.Applications) {
		count(more, "more are not done")
		count(done, "done")
		turn := "wait for their turn"
		if waiting == 1 {
			turn = "waits for its turn"
		}
		count(waiting, turn)
	} else {
		count(more, "more like these")
	}
	if len(texts) == 0 {
		return nil
	}
	return s.Wrap("  ", "  ", strings.Join(texts, ", "))
}

// notDone are the Applications of a step that are not done, in the order of the rollout's blockers.
func (step *Step) notDone() []*Application {
	var all []*Application
	for i := range step.Applications {
		if !step.Applications[i].Done {
			all = append(all, &step.Applications[i])
		}
	}
	return all
}

// listed names a few.
func listed(names []string) string {
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
