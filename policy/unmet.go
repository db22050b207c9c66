// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"
)

// conditional reports whether a step waits for more than the steps before it.
func (in *Input) conditional(step int) bool {
	c := &in.Settings.Conditions
	return c.Paused.Has(step) || c.Approve.Has(step) || c.Verify.Has(step) || c.MaxFailures != nil || in.Window.Closed ||
		in.Settings.Follows
}

// Unmet are the conditions of the target's step that do not hold, each as a denial of its own, in the order of the
// rule. Evaluate reports only the first thing that a sync waits for. It is for those who show the state of a rollout. A
// write that is not gated, or that is exempt from the order, waits for none.
func Unmet(in Input) []Decision {
	d, settled := Scope(in)
	var all []Decision
	switch {
	case settled && d.Reason == Paused:
		all = append(all, d)
	case settled && !d.Ends.Stale() && d.Reason != NotPinned:
		return nil
	}
	in.foresee()
	d.Reason, d.Detail, d.Next, d.Ends = "", "", "", NoComparison
	soaking := slices.DeleteFunc(in.blockers(d.Step), func(b Blocker) bool { return b.Reason != Soaking })
	if len(soaking) > 0 {
		all = append(all, d.blocked(soaking))
	}
	for i := range stepRows {
		r := &stepRows[i]
		if !r.condition {
			continue
		}
		if denied, ok := r.denies(&in, d); ok {
			denied.Reason = r.reason
			all = append(all, denied)
		}
	}
	return all
}

// StepsToRead is how many steps, from the first, have siblings that decide about a target of a step: those before it,
// and the step itself if its failures count.
func StepsToRead(in Input, step int) int {
	if in.Settings.Conditions.MaxFailures != nil {
		step++
	}
	return step
}

// moment is a time as people read it in messages: in UTC, to the second. Texts name moments and never count down.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }
