// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	// startGrace is how long Argo CD has to ask for a sync that is due, and that it has not asked for yet. Where it is
	// about to, it does so within this time.
	startGrace = time.Second
	// startedWithin is how long a sync that is due may take to start before Argo CD is woken up for it as well.
	startedWithin = 10 * time.Second
	firstRestart  = time.Second
	// allotsWithin is how long the ApplicationSet controller has to give an Application one of the slots of its step,
	// after it has last given one away. It does not if it takes others for Progressing that nobody syncs any more.
	allotsWithin = 30 * time.Second
)

// Start is a sync that is due and that nobody has started, or one that is in its way.
type Start struct {
	App types.NamespacedName
	UID types.UID
	// Set is the name of the ApplicationSet, or policy.NameOfParent of a parent, and Step the step of the Application, from 0.
	Set  string
	Step int
	// Asked says that the ApplicationSet controller has asked for the sync, and Altered that the Application has deployed
	// the same revisions, and that what is around its sources has changed since, such as the destination.
	Asked, Altered bool
	// Terminates says that the sync is in the way: it waits for another attempt at what has been overtaken, and is to be
	// terminated. Nothing is started. Why says what overtakes what.
	Terminates bool
	Why        string
	// ResourceVersion is the version of the Application that was judged.
	ResourceVersion string
	// Revisions are what to deploy, one for each source; nil for what the Application was last compared with.
	Revisions []string
	// Until is when the start is to be given up: its slot of the step counts as free from then on.
	Until time.Time
}

// Starter writes the operations of syncs that are due.
type Starter interface {
	// Leads reports whether this replica is the one that starts.
	Leads() bool
	// Start writes an operation, or terminates one, in the background, if the Application still has the version that was
	// judged, and not after s.Until.
	Start(s Start)
}

// due is a sync that is due, from the first reconciliation that finds this to the last.
type due struct {
	// since is when it was first found, or else last asked for.
	since time.Time
	asked int
}

// turn is since when an Application may sync, whatever it would deploy.
type turn struct {
	since time.Time
	// lost is since when it may not any more; zero while it may.
	lost time.Time
}

// turnLost is for how long an Application may lose its turn for a moment, and have the same one again. With each commit
// it does, if it is compared before those that it waits for.
const turnLost = 10 * time.Second

// turn is that of an Application in this look. may says that it may sync now.
func (l *look) turn(name string, may bool, clock time.Time) turn {
	t, known := l.before.may[name]
	switch {
	case !known || !t.lost.IsZero() && clock.Sub(t.lost) >= turnLost:
		if !may {
			return turn{}
		}
		t = turn{since: clock}
	case may:
		t.lost = time.Time{}
	case t.lost.IsZero():
		t.lost = clock
	}
	l.now.may[name] = t
	return t
}

// next is when to ask for the start, by what is recorded now: what is stepgate's to start may be the controller's a
// moment later, and the other way round. turn is since when it may sync: the controller has had the time since then to
// give it a slot, also at an older commit.
func (d *due) next(recorded policy.Recorded, all *allotment, turn time.Time) time.Time {
	asks := all.asksFor(recorded)
	at := d.since.Add(startGrace)
	switch {
	case d.asked > 0:
		at = d.since.Add(backoff(firstRestart, d.asked))
	case recorded.Pending:
		at = recorded.TransitionedAt.Truncate(time.Second).Add(time.Second)
	case asks:
		at = turn.Add(allotsWithin)
	}
	if until := all.gave.Add(allotsWithin); asks && until.After(at) {
		return until
	}
	return at
}

// starts reports whether stepgate itself starts the sync that an Application waits for: Argo CD asks for it, or would
// have to, as the Application has not deployed what it was compared with.
func (r *Releaser) starts(p *argocd.Projection, set *argocd.ApplicationSet, s settings.Settings) bool {
	a := &p.Application
	if r.starter == nil || s.Mode != settings.Enforce || !set.Ordered() || set.Deleting || a.Deleting ||
		a.OperationSet || a.LastOperation.Running() || !outlook.StartedByArgoCD(p, set) {
		return false
	}
	return set.Recorded[a.Name].Pending || a.SyncStatus == "OutOfSync" && (!a.LastSync.AtCompared || r.altered(p))
}

// altered reports whether what is around the sources of an Application has changed since its last operation. That its
// spec was written since, too, keeps a sync that does not help from being started again and again.
func (r *Releaser) altered(p *argocd.Projection) bool {
	found := r.judge.Histories.Found(p.UID, p.Application.LastOperation.StartedAt)
	altered, _ := p.Content.Altered(p.Deployed, found)
	return altered &&
		!p.ContentSince.Before(p.Application.LastOperation.StartedAt.Truncate(time.Second))
}

// startIfDue has a sync started that is due. d is what was decided about the candidate; settled says that it is for
// somebody to say what comes next.
func (r *Releaser) startIfDue(
	l *look, p *argocd.Projection, c *policy.Candidate, d policy.Decision,
) (settled bool) {
	if d.Outcome != policy.Allow {
		l.turn(p.Name, false, r.judge.Clock.Now())
		return false
	}
	if l.StaysBack(p, c) {
		return true
	}
	l.lookAfter(r.start(l, p, c))
	return false
}

// startInBypass has started what would be due without the bypass, which stops nothing: Argo CD may ask for anything
// meanwhile, and does not ask for everything.
func (r *Releaser) startInBypass(l *look, p *argocd.Projection) {
	found, d := l.decide(l.gated(), p)
	if overdue := r.overdue(l, d, p); overdue > 0 {
		l.lookAfter(overdue)
		return
	}
	if until := found.At.Sub(r.judge.Clock.Now()); until > 0 {
		l.lookAfter(until)
	}
	if d.Reason == policy.Unverified && !d.Refused {
		r.verify(l, &found)
	}
	if d.Outcome == policy.Allow {
		r.reserve(l, p, &found.Best)
	}
	if !r.startIfDue(l, p, &found.Best, d) && d.Outcome == policy.Deny {
		r.haveCompared(l, p, &found, d)
	}
}

// start has a sync started that may start, if this replica leads and the step has a slot for it. It returns after how
// long to look again.
//
// Where the ApplicationSet records the Application as Pending, its controller has asked, and waits for an operation that
// starts in a later second than that. Otherwise it may be about to ask.
func (r *Releaser) start(l *look, p *argocd.Projection, c *policy.Candidate) (again time.Duration) {
	clock, key := r.judge.Clock.Now(), fmt.Sprint(p.Name, c.Sources, p.Content)
	q := l.before.due[key]
	recorded, all, turn := l.Set.Recorded[p.Name], l.allotment(c.Step), l.turn(p.Name, true, clock)
	if q == nil {
		q = &due{since: clock}
	}
	l.now.due[key] = q
	switch next := q.next(recorded, all, turn.since); {
	case next.After(clock):
		return next.Sub(clock)
	case !r.starter.Leads() || !all.free(p.Name, c.Step, l.now.starting):
		return reconcileEvery // something has to change first
	}
	s := Start{
		App: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, UID: p.UID, Set: l.Set.Name, Step: c.Step,
		ResourceVersion: p.ResourceVersion, Asked: recorded.Pending,
		Altered: c.Compared && p.Application.LastSync.AtCompared && r.altered(p) && !outlook.HasFailed(p, c),
		Until:   clock.Add(startTimeout),
	}
	if !c.Compared {
		s.Revisions = c.Revisions()
	}
	r.starter.Start(s)
	l.now.starting[p.Name] = starting{s.Until, p.ResourceVersion, c.Step}
	l.now.due[key] = &due{since: clock, asked: q.asked + 1}
	return backoff(firstRestart, q.asked+1)
}

// allotment is that of a step, found once in a look.
func (l *look) allotment(step int) *allotment {
	if l.allotments[step] == nil {
		l.allotments[step] = newAllotment(l, step)
	}
	return l.allotments[step]
}
