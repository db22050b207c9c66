// SPDX-License-Identifier: Apache-2.0

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
