package policy

import (
	"slices"
	"time"
)

// condition reports whether a condition of the target's step does not hold, and completes the denial then.
type condition func(in *Input, d Decision) (denied Decision, is bool)

// conditional reports whether a step waits for more than the order.
func (in *Input) conditional(step int) bool {
	c := &in.Settings.Conditions
	return c.Paused.Has(step) || c.Approve.Has(step) || c.MaxFailures != nil || in.Window.Closed
}

// Unmet are the conditions of the target's step that do not hold, each as a denial of its own, in the order of the rule. Evaluate
// reports only the first thing that a sync waits for. It is for those who show the state of a rollout. A write that is not gated, or that
// is exempt from the order, waits for none.
func Unmet(in Input) []Decision {
	in.Settings.Pin = false
	scope, settled := Scope(in)
	if settled && scope.Reason != Paused {
		return nil
	}
	var all []Decision
	if settled {
		all = append(all, scope)
	}
	d := in.decision(Deny, "")
	soaking := slices.DeleteFunc(in.blockers(d.Step), func(b Blocker) bool { return b.Reason != Soaking })
	if len(soaking) > 0 {
		all = append(all, d.blocked(soaking))
	}
	for _, unmet := range []condition{(*Input).tooManyFailures, (*Input).notApproved, (*Input).windowClosed} {
		if denied, is := unmet(&in, d); is {
			all = append(all, denied)
		}
	}
	return all
}

// StepsToRead is how many steps, from the first, have siblings that decide about the target: those before its own, and its own if its
// failures count.
func StepsToRead(in Input) int {
	step := in.step()
	if in.Settings.Conditions.MaxFailures != nil {
		step++
	}
	return step
}

func (in *Input) paused() Decision {
	d := in.decision(Deny, Paused)
	d.Detail = Printable(in.Settings.Conditions.PausedWhy, maxText)
	return d
}

func (in *Input) windowClosed(d Decision) (denied Decision, is bool) {
	if !in.Window.Closed {
		return d, false
	}
	d.Reason, d.Detail, d.NotBefore = WindowClosed, Printable(in.Window.Detail, maxText), in.Window.OpensAt
	return d, true
}

// moment is a time as people read it in messages: in UTC, to the second. Texts name moments and never count down.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }
