package release

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// look is one look at an ApplicationSet.
type look struct {
	name        types.NamespacedName
	set         *argocd.ApplicationSet
	settings    settings.Settings
	in          policy.Input
	owned       []*argocd.Projection
	byName      map[string]*argocd.Projection
	before, now *waitingSet
	// deciding keeps what was decided about Applications that are alike.
	deciding *Deciding
	// again is after how long to look again; zero when nothing waits.
	again  time.Duration
	wanted []need
	// placesOf are the places of each step.
	placesOf map[int]*places
	// turns has, by step, the Applications that this look has found to have their turn.
	turns map[int][]policy.Blocker
	// train is the last step of which something waits on a train.
	train int
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
	owned, deciding := byName(r.known.Owned(types.UID(set.UID))), NewDeciding(r.judge, set, r.known)
	deciding.weigh = r.weigh
	s := deciding.settings
	l := &look{
		name: name, set: set, settings: s, owned: owned, deciding: deciding, before: before, now: now,
		byName: map[string]*argocd.Projection{}, placesOf: map[int]*places{}, turns: map[int][]policy.Blocker{},
		in: policy.Input{
			ApplicationSet: &set.ApplicationSet, Settings: s.Settings, Siblings: judge.Placed(&set.ApplicationSet, owned),
		},
	}
	l.in.Evidence = r.judge.KnownEvidence(s)
	for _, p := range owned {
		l.byName[p.Name] = p
		r.waiting.Drop(p)
		if started, asked := before.starting[p.Name]; asked && started.underWay(p, r.judge.Clock.Now()) {
			now.starting[p.Name] = started
		}
	}
	for _, p := range owned {
		if s.Mode == settings.Enforce && set.RollingSync && unrecorded(p, &set.ApplicationSet) {
			l.lookAfter(reconcileEvery)
			l.wanted = append(l.wanted, need{
				app: nameOf(p), step: beforeSteps, why: notRecorded, comparedAt: p.Application.ReconciledAt, unrecorded: true,
			})
		}
		if r.retries(p, set, s) {
			r.endRetries(l, p)
		}
		starts := r.starts(p, set, s)
		if (starts || waits(p, &set.ApplicationSet)) && (s.Mode == settings.Enforce || r.waiting.Waits(p.UID)) {
			r.lookAt(l, p, starts)
		}
	}
	l.wanted = append(l.wanted, unproven(set, owned, l.train)...)
	return min(l.again, r.requestAll(inTurn(l.wanted), l))
}

// byName are Applications by name: the first of some that are alike is the same in each look, and so is who has a turn.
func byName(owned []*argocd.Projection) []*argocd.Projection {
	return slices.SortedFunc(slices.Values(owned), func(a, b *argocd.Projection) int {
		return cmp.Compare(a.Name, b.Name)
	})
}

// lookAt looks at an Application that waits. starts says that stepgate starts its sync.
func (r *Releaser) lookAt(l *look, p *argocd.Projection, starts bool) {
	set := &l.set.ApplicationSet
	found, d := r.decide(l, l.in, p)
	if l.settings.Mode != settings.Enforce {
		d = policy.Decision{Outcome: policy.NotGated, Reason: d.Reason} // what was held waits for nobody any more
	}
	if (d.Reason == policy.NotSelected || d.Reason == policy.NotRollingSync) && !r.waiting.Waits(p.UID) {
		return // nobody holds it
	}
	if overdue := r.overdue(l, d, p); overdue > 0 {
		l.lookAfter(overdue)
		return
	}
	if until := found.at.Sub(r.judge.Clock.Now()); until > 0 {
		l.lookAfter(until)
	}
	if d.Outcome == policy.Deny && !starts && unnoticed(p, set) {
		return // nobody has asked for it yet
	}
	l.lookAfter(reconcileEvery)
	if d.Outcome == policy.Deny && d.Step > policy.StepOf(set.Steps, p.Application.Labels) {
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
		r.reserve(l, p, &found.best)
	}
	if starts && !l.in.Settings.Bypassed && r.startIfDue(l, p, &found.best, d) {
		return
	}
	if starts && l.in.Settings.Bypassed {
		r.startInBypass(l, p)
	}
	r.haveCompared(l, p, &found, d)
}

// decide decides about the sync that an Application waits for. d is the decision with the places of the step in mind.
func (r *Releaser) decide(l *look, in policy.Input, p *argocd.Projection) (found decided, d policy.Decision) {
	found = l.deciding.decide(in, p, l.byName[l.before.blockedBy[p.Name]])
	found.best.Decision = l.deciding.after(&found, p)
	return found, found.best.Crowded(r.room(l, p, &found.best))
}

// haveCompared asks for what has to be compared before the sync of an Application can start. d is what was decided
// about it. What holds all up that are alike is asked for once.
func (r *Releaser) haveCompared(l *look, p *argocd.Projection, found *decided, d policy.Decision) {
	if alike := found.alike; alike == nil || d.Outcome != policy.Deny || alike.best.Outcome != policy.Deny ||
		once(d, &alike.wanted) {
		l.wanted = append(append(l.wanted, r.needed(d, found.best.Sources, p)...), idle(d, l.byName)...)
	}
	if found.in.Settings.Train && d.Outcome == policy.Deny {
		l.train = max(l.train, d.Step)
		if !found.best.Compared && once(found.newest.Decision, &found.alike.wantedNewest) {
			l.wanted = append(l.wanted, r.needed(found.newest.Decision, found.newest.Sources, p)...)
		}
	}
}

// once reports whether something holds up the Application alone, or nobody has asked for what holds all up that are
// alike.
func once(d policy.Decision, asked *bool) bool {
	first := !*asked || len(d.Blockers) == 0
	*asked = true
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
