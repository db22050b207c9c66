// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"time"

	"github.com/stepgate/stepgate/policy"
)

// Start is a sync that had waited for a condition, and for nothing else in the end.
type Start struct {
	Target string
	// Condition is what it waited for last.
	Condition string
	// Due is when that was over, and At when the sync was admitted.
	Due, At time.Duration
	// Restarted says that a replica of stepgate was started again in between, or in the second before.
	Restarted bool
}

// Late is by how much a sync was admitted after it was due.
func (s Start) Late() time.Duration { return s.At - s.Due }

// bound is by how much a sync may be late. In 12,000 histories, none was later than 36 s, and 99 of 100 were no later
// than 4 s.
const bound = 60 * time.Second

func (s Start) String() string {
	return fmt.Sprintf("LATE: %s was due at %s, and is admitted at %s [%s]", s.Target, seconds(s.Due), seconds(s.At),
		s.Condition)
}

// admittedInTime notes how late a sync is admitted, if a condition was the last thing that it waited for: for two
// seconds before, and since then, nobody has written its Application or one that it waits for, it was not stopped for
// the order, and nothing has happened but what ended the condition. While the API server cannot reach the mutating
// webhook, syncs are denied, and the ApplicationSet controller backs off for minutes. While a watch is slow, nobody
// knows what has changed.
func (w *world) admittedInTime(o *sought) {
	s := Start{Target: o.m.name, At: w.now}
	over := func(condition string, at time.Duration) {
		if at > s.Due {
			s.Condition, s.Due = condition, at
		}
	}
	over("annotation", w.conditions.changed[o.step])
	over("window", o.m.closedUntil)
	if a := w.approvalFor(o.step, o.revisions); a != nil && w.conditions.needsApproval(o.step) {
		over("approval", a.at)
	}
	if checks, _ := w.conditions.checks(o.step); len(checks) > 0 {
		over("evidence", w.evidence.changed[w.labelOf(o)])
	}
	if wait, _ := w.conditions.soak(o.step); wait > 0 {
		for _, e := range w.before(o.m, o.step) {
			// Argo CD cuts its times to seconds.
			over("soak", max(e.proof.revised, e.proof.healthy)+wait+time.Second+max(0, w.skew(e.name)))
		}
	}
	if w.scenario.Start && len(w.scenario.Steps) > 0 {
		return // it may have had no slot; see watchDue
	}
	if s.Condition == "" || s.Due > w.now || w.unusual || w.disturbed >= s.Due || o.m.ordered >= s.Due ||
		o.m.written > s.Due-sameMoment {
		return
	}
	for _, e := range w.members {
		if o.m.family.follows(e.family) && e.written > s.Due-sameMoment {
			return
		}
		if e.generated > 0 && e.generated <= o.step && e != o.m && e.written > s.Due-sameMoment &&
			(e.generated < o.step || w.conditions.texts["max-failures"] != "") {
			return
		}
	}
	s.Restarted = w.restarted >= s.Due-time.Second
	w.starts = append(w.starts, s)
	w.logf("%s is admitted %s after the end of: %s", o.m.name, seconds(s.Late()), s.Condition)
}

// stopped is called when a sync is held or denied.
func (w *world) stopped(name string, why policy.Reason) {
	if !why.Condition() && why != policy.AlreadySynced {
		w.members[name].ordered = w.now
	}
}

// late are the syncs that were later than they may be.
func (w *world) late() []Start {
	var all []Start
	for _, s := range w.starts {
		if s.Late() > bound {
			all = append(all, s)
		}
	}
	return all
}
