// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"
)

// Outcome is what the rule says about a write. The zero value is Deny.
type Outcome int

const (
	// Deny means that an Application of an earlier step is not done. In audit mode the write is admitted and recorded.
	Deny Outcome = iota
	// Allow means that the write is gated and may go ahead.
	Allow
	// NotGated means that the rule has no say in this write. It is admitted, and it is not an Allow.
	NotGated
)

// String is the value of metric labels and audit annotations.
func (o Outcome) String() string {
	switch o {
	case Allow:
		return "allow"
	case NotGated:
		return "not_gated"
	case Deny:
	}
	return "deny"
}

// Decision is the rule's answer to one write. The zero value denies.
type Decision struct {
	Outcome Outcome
	Reason  Reason
	// Application is the target's name.
	Application string
	// ApplicationSet is "namespace/name"; empty when the target has none.
	ApplicationSet string
	// Step is the target's 0-based step, -1 when it has none or its steps were not looked at.
	Step int
	// Blockers are all siblings of earlier steps that are not done, by step and then by name; those that only have to
	// prove themselves for longer come last. With TooManyFailures they are the siblings of the target's own step that
	// have failed, and with MaxUpdateReached those that are under way. Empty unless Deny, and where the target itself is
	// not ready.
	Blockers []Blocker
	// NotBefore is when a denial ends by itself, if nothing changes until then; zero when that is not known.
	NotBefore time.Time
	// Detail says what is wrong with the target itself, or with the condition. It may be empty, and has no time that
	// changes while nothing else does, and no resourceVersion.
	Detail string
	// Next is what an operator can do about that, where it depends on the detail; APP stands for the Application.
	Next string
	// Ends is which comparison of the target may end the denial.
	Ends Comparison
	// Refused says that an object has said no to what would be deployed: to wait does not help.
	Refused bool
	// Circle is the way from the target back to itself, where it waits for something that waits for it in turn; else
	// empty.
	Circle string
	// Root is the first of what the blockers wait for themselves, for texts; nil where nobody has looked.
	Root *Need
}

// Meant reports whether the sync waits for a condition as it is meant to: nobody has to be woken for it.
func (d *Decision) Meant() bool {
	return d.Reason.Condition() && d.Reason != TooManyFailures && !d.Refused
}

// For is the decision about another target that is alike: see Keys. The two share their Blockers, unless a text of
// these has the name of the target.
func (d Decision) For(target string) Decision {
	if d.Application == target || d.Application == "" {
		return d
	}
	was, is := changeUnseen(d.Application), changeUnseen(target)
	if slices.ContainsFunc(d.Blockers, func(b Blocker) bool { return b.Detail == was }) {
		d.Blockers = slices.Clone(d.Blockers)
		for i := range d.Blockers {
			if b := &d.Blockers[i]; b.Detail == was {
				b.Detail = is
			}
		}
	}
	d.Application = target
	return d
}

// Blocker is a sibling that holds a sync up.
type Blocker struct {
	Application string
	// Namespace is the one that it is in; empty for that of the target.
	Namespace string
	// Cluster is the one that it deploys to, for texts; empty for the one in which Argo CD runs.
	Cluster string
	// Step is 0-based; -1 if the target waits for it as a Dependency.
	Step   int
	Reason Reason
	// Detail says what was seen, such as "Progressing". It may be empty. It never holds a time that changes while
	// nothing else does, and no resourceVersion.
	Detail string
	// Next is what an operator can do about it, where it depends on the detail; APP stands for the Application.
	Next string
	// Ends is which comparison of the Application may end it.
	Ends Comparison
	// ComparedAt is when Argo CD last compared it; zero when never. Refreshing says that a refresh of it is requested
	// already. They are for whoever asks for a refresh, and never shown.
	ComparedAt time.Time
	Refreshing bool
	// NotBefore is when it ends by itself to be a blocker; zero when that is not known.
	NotBefore time.Time
}
