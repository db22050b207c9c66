// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"slices"
	"strings"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// UnderWay reports whether an Application takes a slot of its step by its state alone, and why: an operation is asked
// for or runs, or the ApplicationSet controller counts it as one that it has synced.
//
// What it counts mirrors UpdateApplicationSetApplicationStatus and UpdateApplicationSetApplicationStatusProgress of
// argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go:441-493 and 612-621. There an Application that was
// synced, or that is found Synced at a new revision, is Progressing until it is Healthy and Synced, and counts until
// then, whatever came of its sync. So one that has failed keeps its slot until it is repaired, or a new revision makes
// it Waiting. Two things differ. One that is Healthy and not Synced is done here: where only pruning is left, the
// controller would count it for good. And one that is Pending only reserves a slot: see
// Counted.Without.
func UnderWay(a *policy.Application, recorded policy.Recorded) (why policy.Reason, is bool) {
	switch {
	case a.OperationSet || a.LastOperation.Running():
		return policy.OperationInProgress, true
	case a.Deleting || a.Health == "Healthy":
		return "", false
	case recorded.Started && !recorded.Healthy:
		return policy.NotHealthy, true
	case a.SyncStatus == "Synced" && (!recorded.Healthy || recorded.Behind(a.Compared)):
		return policy.NotHealthy, true // it is recorded as Progressing, or is about to be
	}
	return "", false
}

// needs reports whether the state of an Application still needs the slot that it has, and why. It does not say that
// its operation may not be stored any more: see Store.settle. An operation that was not stored needs no slot.
//
// Until Argo CD has compared it after its operation, its health is the one of before. Times are of seconds: a comparison
// in the second in which the operation ended counts if it is the one that found it Synced.
func (p *Slot) needs(a *policy.Application, recorded policy.Recorded) (why policy.Reason, is bool) {
	if why, is = UnderWay(a, recorded); is || a.Deleting || !p.hasRun(a) {
		return why, is
	}
	if !compared(a, p.OutOfSync) {
		return policy.NotCompleted, true
	}
	if recorded.Pending && a.Health != "Healthy" || a.SyncStatus == "Synced" && a.Health == "Progressing" {
		return policy.NotHealthy, true // it is about to be recorded as Progressing, or has been synced once more
	}
	return "", false
}

// hasRun reports whether the operation of a slot has started: the last operation is not the one of before any more.
func (p *Slot) hasRun(a *policy.Application) bool {
	return !a.LastOperation.StartedAt.Equal(p.LastStarted)
}

// compared reports whether Argo CD has compared an Application since its last operation. outOfSync says that it was
// OutOfSync before that.
func compared(a *policy.Application, outOfSync bool) bool {
	ended := a.LastOperation.FinishedAt
	return ended.IsZero() || a.ReconciledAt.After(ended) && !a.Unseen() ||
		outOfSync && a.SyncStatus == "Synced" && !a.ReconciledAt.Before(ended)
}

// Counted are the Applications of the step, and of the track, of a claim that are under way.
type Counted struct {
	claim *Claim
	// size is the number of Applications of the step.
	size int
	// taken are the slots that are taken, and pending those for which the ApplicationSet controller asks and that have
	// none yet.
	taken   []policy.Blocker
	pending []policy.Blocker
	// under are the Applications that take a slot, has those of them that have one of their own, and free those whose
	// slot is not needed any more.
	under, has, free map[string]bool
}

// settle finds out whether a slot is kept whose Application seems not to need it: its operation may still be stored.
type settle func(own *Slot) (why policy.Reason, under bool, err error)

// Count counts the slots of a step, from 0, as the ApplicationSet controller does: by what the siblings show.
func Count(set *argocd.ApplicationSet, step int, siblings []policy.Sibling) *Counted {
	return byState(&Claim{Set: set, Step: step}, &table{}, siblings)
}

// byState counts without the slots of which only the table tells. t is nil if that is not known: then each Application
// that has not been compared since its sync may have a slot.
func byState(c *Claim, t *table, siblings []policy.Sibling) *Counted {
	counted, _ := count(c, t, siblings, func(*Slot) (policy.Reason, bool, error) { return "", false, nil })
	return counted
}

// count counts the slots of a claim's step and track. Nothing else does.
func count(c *Claim, t *table, siblings []policy.Sibling, settle settle) (*Counted, error) {
	counted := &Counted{claim: c, under: map[string]bool{}, has: map[string]bool{}, free: map[string]bool{}}
	known := t
	if known == nil {
		known = &table{}
	}
	unseen := map[string]bool{} // those that have a slot and are no siblings
	for i := range known.Slots {
		unseen[known.Slots[i].Application] = true
	}
	for i := range siblings {
		sibling := &siblings[i]
		delete(unseen, sibling.Name)
		own, in := c.slotOf(sibling.Name, known), c.inStep(sibling)
		if own == nil && !in {
			continue
		}
		if in && !sibling.Deleting {
			counted.size++
		}
		why, under := c.state(sibling, known)
		if !under && t == nil && !sibling.Deleting && !compared(sibling.Application, true) {
			why, under = policy.NotCompleted, true
		}
		if !under && own != nil {
			var err error
			if why, under, err = settle(own); err != nil {
				return nil, err
			}
			counted.free[sibling.Name] = !under
		}
		// What the ApplicationSet records may be older than the table: it gives an Application no slot of its own.
		counted.under[sibling.Name] = under
		counted.has[sibling.Name] = under && (own != nil || why == policy.OperationInProgress)
		if under || in {
			counted.is(sibling.Application, why)
		}
	}
	for i := range known.Slots {
		own := &known.Slots[i]
		if !unseen[own.Application] || !c.counts(own) {
			continue
		}
		why, under, err := settle(own)
		if err != nil {
			return nil, err
		}
		counted.free[own.Application], counted.under[own.Application], counted.has[own.Application] = !under, under, under
		if under {
			counted.is(&policy.Application{Name: own.Application}, why)
		}
	}
	return counted, nil
}

// is counts an Application, which is under way for a reason unless that is empty.
func (c *Counted) is(a *policy.Application, why policy.Reason) {
	b := policy.Blocker{
		Application: a.Name, Cluster: a.Cluster, Step: c.claim.Step, Reason: why, ComparedAt: a.ReconciledAt,
	}
	switch recorded := c.claim.Set.Recorded[a.Name]; {
	case why != "":
		switch why {
		case policy.NotHealthy:
			b.Detail = policy.Printable(a.Health, maxHealth)
		case policy.NotCompleted:
			b.Detail, b.Ends = "not compared since its sync", policy.CompareSettled
		default:
		}
		c.taken = append(c.taken, b)
	case recorded.Pending && !a.Deleting:
		b.Reason, b.Detail = policy.MaxUpdateReached, "the ApplicationSet controller is about to sync it"
		c.pending = append(c.pending, b)
	}
}

// maxHealth bounds the text of a health.
const maxHealth = 60

// Without are the slots that others than an Application have taken: also those that the ApplicationSet controller is
// about to sync. If the Application is one of these, only those that come before it by name: one of them can always go.
func (c *Counted) Without(application string) *policy.Slots {
	taken, pending := slices.Clone(c.taken), c.claim.Set.Recorded[application].Pending
	for _, b := range c.pending {
		if !pending || b.Application < application {
			taken = append(taken, b)
		}
	}
	return c.of(application, taken)
}

// underWay are those of them that are under way already.
func (c *Counted) underWay(application string) *policy.Slots { return c.of(application, c.taken) }

// of are slots that are taken, without that of an Application.
func (c *Counted) of(application string, taken []policy.Blocker) *policy.Slots {
	size := c.size
	if c.claim.Moved {
		size = 1
	}
	most, _ := c.claim.Set.AtOnce(c.claim.Step, size)
	all := &policy.Slots{Most: most}
	for _, b := range taken {
		if b.Application != application {
			all.Taken = append(all.Taken, b)
		}
	}
	slices.SortFunc(all.Taken, func(a, b policy.Blocker) int { return strings.Compare(a.Application, b.Application) })
	return all
}
