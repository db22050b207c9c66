// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/course"
)

// Candidates are what an Application could deploy, newest first, as the gate says.
type Candidates []course.Candidate

// ParseCandidates reads the warnings with which the gate answers a dry run, and leaves others out.
func ParseCandidates(warnings []string) (all Candidates) {
	for _, warning := range warnings {
		text, is := strings.CutPrefix(warning, course.CandidateWarning)
		var c course.Candidate
		if is && json.Unmarshal([]byte(text), &c) == nil {
			all = append(all, c)
		}
	}
	return all
}

// Next is the one that is deployed next; nil if that is not known.
func (all Candidates) Next() *course.Candidate {
	if i := slices.IndexFunc(all, func(c course.Candidate) bool { return c.Next }); i >= 0 {
		return &all[i]
	}
	return nil
}

// ToApprove is the newest one that lacks nothing but an approval; nil if there is none.
func (all Candidates) ToApprove() *course.Candidate {
	i := slices.IndexFunc(all, func(c course.Candidate) bool {
		return c.Reason == policy.NotApproved && c.Blocker == ""
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// approvalOf is the text that approves one.
func approvalOf(c *course.Candidate) string {
	return cmp.Or(c.Approval, strings.Join(c.Revisions, ","))
}

// Ask asks the gate for the candidates of an Application. It returns none where it cannot be asked.
type Ask func(app string) Candidates

// AskGate fills in, for every step after the first one, what is deployed next, unless that is what was compared last. One
// Application of each step tells: the first one that is not done.
func (r *Rollout) AskGate(ask Ask) {
	if !r.older {
		return
	}
	for i := range r.Steps[min(1, len(r.Steps)):] {
		step := &r.Steps[i+1]
		for _, a := range step.notDone() {
			if len(a.Revisions) > 0 && a.NotCounted == "" {
				step.Candidate = ask(a.Name).Next()
				break
			}
		}
	}
}

// running says what a step runs, since when, and what is deployed next.
func (step *Step) running(s screen.Screen) []string {
	if step.Candidate == nil {
		return nil
	}
	text := "next: " + candidate(step.Candidate)
	for _, a := range step.notDone() {
		if len(a.Runs) > 0 {
			text += "; runs " + shortAll(a.Runs)
			if a.Since != nil {
				text += " since " + a.Since.UTC().Format(time.RFC3339)
			}
			break
		}
	}
	return s.Wrap("  ", "  ", text)
}

// candidate says what one lacks.
func candidate(c *course.Candidate) string {
	text := shortAll(c.Revisions)
	switch {
	case c.Reason == "":
		text += " may start"
	case c.Blocker != "":
		text += fmt.Sprintf(" waits for %s (%s)", policy.ClientText(c.Blocker),
			policy.ClientText(because(string(c.Reason), c.Detail)))
	default:
		text += " lacks: " + policy.ClientText(string(c.Reason))
	}
	if c.Until != nil {
		text += ", until " + c.Until.Format(time.RFC3339)
	}
	return text
}

// candidateLines are the candidates of an Explanation, newest first.
func (e *Explanation) candidateLines(s screen.Screen) []string {
	if len(e.Candidates) == 0 {
		return nil
	}
	lines := []string{"", s.Paint(screen.Bold, "Candidates, newest first")}
	for i := range e.Candidates {
		c := &e.Candidates[i]
		sign, style, text := screen.SignWaiting, screen.Bad, candidate(c)
		if c.Reason == "" {
			sign, style = screen.SignGood, screen.Good
		}
		if c.Compared {
			text += " (the compared one)"
		}
		if c.Next {
			text += ": next"
		}
		lines = append(lines, s.Wrap("  "+s.Paint(style, sign)+" ", "    ", text)...)
	}
	return lines
}
