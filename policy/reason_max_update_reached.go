// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strconv"
)

// MaxUpdateReached means that as many Applications of the step are under way as its maxUpdate says. The blockers are
// siblings of the target's own step.
const MaxUpdateReached Reason = "MaxUpdateReached"

var maxUpdateReached = waiting{
	row: row{
		reason: MaxUpdateReached,
		means: "As many Applications of the step are under way as its `maxUpdate` allows, and stepgate [keeps " +
			"it](conditions.md#maxupdate).",
		do: "wait until one of them is Healthy, or repair or [bypass](emergency.md) it. If `maxUpdate` is 0, " +
			"sync by hand.",
		level:     RequireHealth,
		when:      "with `--max-update`: as many of its step are under way as `maxUpdate` says",
		condition: true,
		words: func(d Decision) (text, next string) {
			if len(d.Blockers) == 0 {
				return d.of() + " may not sync by itself (MaxUpdateReached: its maxUpdate is 0)", "sync it by hand"
			}
			return fmt.Sprintf("%s may not sync yet (MaxUpdateReached: its maxUpdate is %s): %s", d.of(), d.Detail, d.Names()),
				"wait until one of them is Healthy"
		},
	},
	denies: func(in *Input, d Decision) (denied Decision, ok bool) { return d.withSlots(in.Slots) },
}

// Slots are how many Applications of the target's step may be under way at once, and which others are.
type Slots struct {
	Most int
	// Taken are the others, by name.
	Taken []Blocker
}

// Free is how many more may start.
func (p *Slots) Free() int { return max(0, p.Most-len(p.Taken)) }

// WithSlots is the decision if the slots count: an allow without a free slot is a denial.
func (d Decision) WithSlots(p *Slots) Decision {
	if denied, full := d.withSlots(p); d.Outcome == Allow && full {
		denied.Outcome, denied.Reason = Deny, MaxUpdateReached
		return denied
	}
	return d
}

// withSlots completes a denial where no slot is free.
func (d Decision) withSlots(p *Slots) (denied Decision, ok bool) {
	if p == nil || p.Free() > 0 {
		return d, false
	}
	d.Blockers, d.Detail = p.Taken, strconv.Itoa(p.Most)
	return d, true
}

// Repairs reports whether a sync deploys nothing new, and needs no slot: what is broken may be what takes them. byItself
// says that auto-sync asks for it: else what is deployed is synced as a part of a rollout.
func (d Decision) Repairs(byItself bool) bool {
	return d.Reason == Rollback || d.Reason == SelfHeal && byItself
}
