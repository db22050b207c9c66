package policy

import "slices"

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
	// ApplicationSet is "namespace/name"; empty when the target has none.
	ApplicationSet string
	// Step is the target's 0-based step, -1 when it has none or its steps were not looked at.
	Step int
	// Blockers are all siblings of earlier steps that are not done, by step and then by name. Empty unless Deny.
	Blockers []Blocker
}

// Blocker is a sibling of an earlier step that is not done.
type Blocker struct {
	Application string
	// Step is 0-based.
	Step   int
	Reason Reason
	// Detail says what was seen, such as "Progressing". It may be empty, and never holds a time or a resourceVersion.
	Detail string
}

// Stricter returns the stricter of two decisions on the same write: Deny before Allow before NotGated.
func Stricter(a, b Decision) Decision {
	if b.Outcome < a.Outcome {
		return b
	}
	return a
}

// Stale reports whether every blocker is merely out of date, so that a refresh may be all that is needed.
func (d Decision) Stale() bool {
	return len(d.Blockers) > 0 && !slices.ContainsFunc(d.Blockers, func(b Blocker) bool { return !b.Reason.Stale() })
}
