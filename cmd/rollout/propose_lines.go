// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/cmd/screen"
)

// Lines shows what is approved, and what has happened to it so far.
func (p *Proposal) Lines(s screen.Screen) []string {
	r := p.rollout
	lines := []string{
		ordering(s, r.Namespace+"/"+r.Name),
		strings.TrimRight(s.Paint(screen.Bold, "Approval of")+"     "+p.step.place(len(r.Steps))+"  "+p.step.Selector, " "),
	}
	for _, e := range p.Entries {
		text := e.What
		if !slices.Equal(e.Revisions, []string{e.What}) && len(e.Revisions) > 0 {
			text += " (" + shortAll(e.Revisions) + ")"
		}
		switch n := len(e.Applications); {
		case n == 1:
			text += ", which " + e.Applications[0] + " would deploy"
		case n > 1:
			text += fmt.Sprintf(", which %d Applications would deploy (%s)", n, listed(e.Applications))
		}
		if len(e.Running) > 0 {
			text += "; now running: " + shortAll(e.Running)
		}
		if e.Approved != "" {
			text += "; approved already " + e.Approved
		}
		lines = append(lines, s.Wrap(s.Paint(screen.Bold, "Deploys")+"         ", "                ", text)...)
	}
	for i := range r.Steps[:p.step.Number-1] {
		lines = append(lines, r.Steps[i].head(s, r))
	}
	for _, c := range p.Waits {
		lines = append(lines, s.Wrap(s.Paint(screen.Bad, screen.SignWaiting)+" ", "  ", c.Text)...)
	}
	for _, w := range p.Warnings {
		lines = append(lines, s.Wrap(s.Paint(screen.Busy, screen.SignWarning)+" ", "  ", w)...)
	}
	return lines
}

// Name is what people call the step.
func (p *Proposal) Name() string { return p.step.Name() }

// Approved reports whether everything is approved already.
func (p *Proposal) Approved() bool {
	return !slices.ContainsFunc(p.Entries, func(e Deployment) bool { return e.Approved == "" })
}

// Texts are the entries as the annotation has them.
func (p *Proposal) Texts() []string {
	var all []string
	for _, e := range p.Entries {
		all = append(all, e.What)
	}
	return all
}

// Next says what has to happen before the syncs of the step start.
func (p *Proposal) Next() string {
	r := p.rollout
	var waits []string
	if r.Step > 0 && r.Step < p.step.Number {
		waits = append(waits, "until "+r.Steps[r.Step-1].Name()+" is done")
	}
	for _, c := range p.Waits {
		waits = append(waits, strings.TrimPrefix(c.waits(), "waits "))
	}
	name := p.step.Name()
	name = strings.ToUpper(name[:1]) + name[1:]
	if len(waits) == 0 {
		return name + " goes on by itself now."
	}
	return name + " still waits " + strings.Join(waits, " and ") + ", and then goes on by itself."
}
