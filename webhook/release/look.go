// SPDX-License-Identifier: Apache-2.0

package release

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// look is one look at an ApplicationSet.
type look struct {
	*outlook.Outlook
	name        types.NamespacedName
	byName      map[string]*argocd.Projection
	before, now *waitingSet
	// gated is the Outlook without a bypass.
	gated func() *outlook.Outlook
	// wants are the needs of syncs that are alike, and of what those were compared with, that somebody has asked for.
	wants, wantsNewest map[policy.Key]bool
	// again is after how long to look again; zero when nothing waits.
	again  time.Duration
	wanted []need
	// allotments are the slots of each step.
	allotments map[int]*allotment
	// turns has, by step, the Applications that this look has found to have their turn.
	turns map[int][]policy.Blocker
	// candidates is the last step of which something waits that has older candidates.
	candidates int
}

func (l *look) lookAfter(d time.Duration) { l.again = soonest(l.again, d) }

// project is the Application of a need, as last watched; nil if it is not known.
func (l *look) project(c need, known judge.KnownSets) *argocd.Projection {
	if c.step == ofDependency {
		return known.Application(c.app)
	}
	return l.byName[c.app.Name]
}

func (r *Releaser) reconcile(
	name types.NamespacedName, set *argocd.ApplicationSet, before, now *waitingSet,
) (again time.Duration) {
	ahead := outlook.Weighing(r.weigh, r.judge, set, r.known, r.view)
	l := &look{
		Outlook: ahead, name: name, before: before, now: now, gated: sync.OnceValue(ahead.WithoutBypass),
		byName: make(map[string]*argocd.Projection, len(ahead.Applications)), allotments: map[int]*allotment{},
		turns: map[int][]policy.Blocker{}, wants: map[policy.Key]bool{}, wantsNewest: map[policy.Key]bool{},
	}
	for _, p := range l.Applications {
		l.byName[p.Name] = p
		r.waiting.Drop(p)
		if started, asked := before.starting[p.Name]; asked && started.underWay(p, r.judge.Clock.Now()) {
			now.starting[p.Name] = started
		}
	}
	for _, p := range l.Applications {
		if l.Settings.Mode == settings.Enforce && set.RollingSync && unrecorded(p, &set.ApplicationSet) {
			l.lookAfter(reconcileEvery)
			l.wanted = append(l.wanted, need{
				app: nameOf(p), step: beforeSteps, why: notRecorded, comparedAt: p.Application.ReconciledAt, unrecorded: true,
			})
		}
		if r.retries(p, set, l.Settings) {
			r.endRetries(l, p)
		}
		starts := r.starts(p, set, l.Settings)
		if (starts || waits(p, &set.ApplicationSet)) && (l.Settings.Mode == settings.Enforce || r.waiting.Waits(p.UID)) {
			r.lookAt(l, p, starts)
		}
	}
	l.wanted = append(l.wanted, unproven(set, l.Applications, l.Input.History, l.candidates)...)
	return min(l.again, r.requestAll(inTurn(l.wanted), l))
}

// lookAt looks at an Application that waits. starts says that stepgate starts its sync.
func (r *Releaser) lookAt(l *look, p *argocd.Projection, starts bool) {
	set := &l.Set.ApplicationSet
	found, d := l.decide(l.Outlook, p)
	if l.Settings.Mode != settings.Enforce {
		d = policy.Decision{Outcome: policy.NotGated, Reason: d.Reason} // what was held waits for nobody any more
	}
	if (d.Reason == policy.NotSelected || d.Reason == policy.NotRollingSync) && !r.waiting.Waits(p.UID) {
		return // nobody holds it
	}
	if overdue := r.overdue(l, d, p); overdue > 0 {
		l.lookAfter(overdue)
		return
	}
	if until := found.At.Sub(r.judge.Clock.Now()); until > 0 {
		l.lookAfter(until)
	}
	if d.Outcome == policy.Deny && !starts && unnoticed(p, set) {
		return // nobody has asked for it yet
	}
	l.lookAfter(reconcileEvery)
	if d.Outcome == policy.Deny && d.Step > set.StepOf(p.Application.Labels) {
		l.lookAfter(policy.SettlingTime) // the step that it has left counts no longer than that
	}
	if d.Outcome == policy.Deny && d.Reason != policy.AlreadySynced {
		r.waiting.Wait(p.UID, types.UID(set.UID), d)
	}
	if d.Reason == policy.Unverified && !d.Refused {
		r.verify(l, &found)
	}
	if len(d.Blockers) > 0 && d.Reason != policy.DependencyNotDone {
		l.now.blockedBy[p.Name] = d.Blockers[0].Application
	}
	if d.Outcome == policy.Allow {
		r.reserve(l, p, &found.Best)
	}
	if starts && !l.Input.Settings.Bypassed && r.startIfDue(l, p, &found.Best, d) {
		return
	}
	if starts && l.Input.Settings.Bypassed {
		r.startInBypass(l, p)
	}
	r.haveCompared(l, p, &found, d)
}

// decide decides about the sync that an Application waits for. d is the decision with the turns of others in mind.
func (l *look) decide(o *outlook.Outlook, p *argocd.Projection) (found outlook.Sync, d policy.Decision) {
	found = o.NextUnless(p, l.byName[l.before.blockedBy[p.Name]])
	return found, found.Best.WithSlots(l.room(&found))
}

// haveCompared asks for what has to be compared before the sync of an Application can start. d is what was decided
// about it. What holds all up that are alike is asked for once.
func (r *Releaser) haveCompared(l *look, p *argocd.Projection, found *outlook.Sync, d policy.Decision) {
	if !found.DeniesAlike || d.Outcome != policy.Deny || once(d, l.wants, found.Alike) {
		l.wanted = append(append(l.wanted, r.needed(d, found.Best.Sources, p)...), idle(d, l.byName)...)
	}
	if found.Input.Settings.Candidates && d.Outcome == policy.Deny {
		l.candidates = max(l.candidates, d.Step)
		if !found.Best.Compared && once(found.Newest.Decision, l.wantsNewest, found.Alike) {
			l.wanted = append(l.wanted, r.needed(found.Newest.Decision, found.Newest.Sources, p)...)
		}
	}
}

// once reports whether something holds up the Application alone, or nobody has asked for what holds all up that are
// alike.
func once(d policy.Decision, asked map[policy.Key]bool, alike policy.Key) bool {
	first := !asked[alike] || len(d.Blockers) == 0
	asked[alike] = true
	return first
}

// turnOf is the need of an Application that may deploy sources.
func turnOf(p *argocd.Projection, sources []policy.Source) need {
	a := &p.Application
	return need{
		app: nameOf(p), step: beforeSteps, why: turnHasCome, what: policy.ApprovalOf(sources), comparedAt: a.ReconciledAt,
		synced: a.SyncStatus == "Synced" && a.LastSync.AtCompared,
	}
}

// soonest is the shorter of two times of which the first may be unknown, which is 0.
func soonest(again, other time.Duration) time.Duration {
	if again == 0 {
		return other
	}
	return min(again, other)
}

// needed is what has to be compared before the sync of an Application that waits can start, which deploys sources.
func (r *Releaser) needed(d policy.Decision, sources []policy.Source, p *argocd.Projection) []need {
	if d.NotBefore.After(r.judge.Clock.Now()) {
		return nil
	}
	target := judge.WaitingTarget(p)
	all := needs(d, &target, p.Namespace)
	if d.Outcome != policy.Deny {
		all = []need{turnOf(p, sources)}
	}
	for i := range all {
		all[i].pending = all[i].pending || all[i].app == nameOf(p) && p.Application.RefreshRequested
	}
	return all
}
