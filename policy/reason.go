package policy

// Reason is the code of one row of the rule. Reasons appear in denials, audit annotations, metric labels and Events,
// and docs/decisions.md explains each.
type Reason string

// Reasons lists every Reason of the rule: first those of writes, then those of siblings, each in the order of the rule.
func Reasons() []Reason {
	writes, _ := WriteRows()
	var all []Reason
	known := map[Reason]bool{}
	for _, r := range append(writes, SiblingRows()...) {
		if !known[r.Reason] {
			known[r.Reason] = true
			all = append(all, r.Reason)
		}
	}
	return all
}

// Condition reports whether the reason is a condition of a step, which somebody has set up.
func (r Reason) Condition() bool { return rowOf(r).condition }

// Meant reports whether the reason is a condition that waits as it is meant to: nobody has to be woken for it.
func (r Reason) Meant() bool { return r.Condition() && r != TooManyFailures && r != VerifyFailed }

// Stale reports whether the reason says only that an Application was compared too early: a refresh may clear it.
func (r Reason) Stale() bool { return rowOf(r).stale }

// OfRevision reports whether the reason may end because the branch points to another revision by now. Argo CD notices
// that by itself, unless polling is switched off.
func (r Reason) OfRevision() bool { return rowOf(r).ofRevision }
