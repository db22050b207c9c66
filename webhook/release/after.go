package release

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

// Refresher makes Argo CD compare an Application again, in the background.
type Refresher interface {
	// Ask requests a refresh. why is the reason, and comparedAt is when Argo CD last compared the Application.
	Ask(app types.NamespacedName, why string, comparedAt time.Time)
	// AskAgain makes Argo CD notice a request that it has overlooked.
	AskAgain(app types.NamespacedName, comparedAt time.Time)
}

// Waiting knows which Applications wait. record.Waiting is one.
type Waiting interface {
	// Drop drops an Application that waits no longer.
	Drop(p *argocd.Projection)
	// Waits reports whether an Application is known to wait.
	Waits(app types.UID) bool
	// Wait remembers that an Application waits.
	Wait(app, owner types.UID, d policy.Decision)
	// StoppedSince reports whether a sync of an Application that waits has been held or denied since a time.
	StoppedSince(app types.UID, since time.Time) bool
}

// Members gives the Applications of an ApplicationSet as last watched.
type Members interface {
	Owned(owner types.UID) []*argocd.Projection
}

// Requests are the refreshes that stepgate asks for. Whoever may ask for a sync has siblings refreshed when that is
// refused: so the requests after refusals are bounded, and leave the reasons aside, of which there are as many as
// revisions. The Releaser bounds its own by what holds syncs up.
type Requests struct {
	refresh Refresher
	members Members
	clock   clock.PassiveClock

	mu sync.Mutex
	// lately are those of the last overlookedAfter, oldest first.
	lately []lately
}

// lately is a refresh of an Application that was asked for, for syncs of an ApplicationSet.
type lately struct {
	set, app types.NamespacedName
	at       time.Time
}

// NewRequests returns Requests that are made with refresh.
func NewRequests(refresh Refresher, members Members, clock clock.PassiveClock) *Requests {
	return &Requests{refresh: refresh, members: members, clock: clock}
}

// AfterRefusal makes Argo CD compare again what a refusal finds to have been compared too early: whoever was refused
// may ask again soon. In audit mode it asks for nothing. For a write that is held, a Releaser goes on with the siblings
// that come later.
func (q *Requests) AfterRefusal(w *judge.Write, v judge.Verdict) {
	if w.DryRun || v.Err != nil || !v.Rejects() || q.nobodyCompared(w, v) {
		return
	}
	for _, c := range needs(v.Decision, &w.Target, w.Namespace) {
		// Where a refresh is pending, somebody has asked.
		// The Releaser does that later, but it does not know the places.
		later := v.Held && (c.settling || c.synced) && v.Reason != policy.MaxUpdateReached
		if !c.pending && !c.unpolled && !later && q.mayAsk(setOf(w, v), c.app) {
			q.refresh.Ask(c.app, c.why, c.comparedAt)
		}
	}
}

// nobodyCompared reports whether the operation names a revision with which no Application of the ApplicationSet is
// compared, and which none has run: no comparison finds it either, unless the branch comes to it.
func (q *Requests) nobodyCompared(w *judge.Write, v judge.Verdict) bool {
	if v.Set == nil {
		return false
	}
	var all []*argocd.Projection
	return slices.ContainsFunc(w.Target.Wanted, func(s policy.Source) bool {
		if s.Revision == "" || slices.Contains(w.Target.Compared, s) || slices.Contains(w.Target.Ran, s) {
			return false
		}
		if all == nil {
			all = q.members.Owned(types.UID(v.Set.UID))
		}
		return len(all) > 0 && !slices.ContainsFunc(all, func(p *argocd.Projection) bool {
			return slices.Contains(p.Application.Compared, s) || slices.Contains(p.Application.Ran, s)
		})
	})
}

// setOf is the key of the ApplicationSet by which a write was refused.
func setOf(w *judge.Write, v judge.Verdict) types.NamespacedName {
	if v.Set == nil {
		return argocd.AloneKey(w.Namespace, w.Target.Name)
	}
	return types.NamespacedName{Namespace: v.Set.Namespace, Name: v.Set.Name}
}

// mayAsk reports whether a refresh may be asked for after a refusal, and remembers it: no more than atOnce are under way
// for the syncs of an ApplicationSet, and one of each Application.
func (q *Requests) mayAsk(set, app types.NamespacedName) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget()
	underWay := 0
	for _, l := range q.lately {
		if l.app == app {
			return false
		}
		if l.set == set {
			underWay++
		}
	}
	if underWay >= atOnce {
		return false
	}
	q.lately = append(q.lately, lately{set, app, q.clock.Now()})
	return true
}

// ask asks for a refresh that the Releaser wants.
func (q *Requests) ask(set, app types.NamespacedName, why string, comparedAt time.Time) {
	q.mu.Lock()
	q.forget()
	q.lately = append(q.lately, lately{set, app, q.clock.Now()})
	q.mu.Unlock()
	q.refresh.Ask(app, why, comparedAt)
}

// forget forgets what was asked for long ago. The caller holds the lock.
func (q *Requests) forget() {
	since := q.clock.Now().Add(-overlookedAfter)
	old := slices.IndexFunc(q.lately, func(l lately) bool { return l.at.After(since) })
	if old < 0 {
		old = len(q.lately)
	}
	q.lately = slices.Delete(q.lately, 0, old)
}

// askAgain makes Argo CD notice a request that it has overlooked.
func (q *Requests) askAgain(app types.NamespacedName, comparedAt time.Time) {
	q.refresh.AskAgain(app, comparedAt)
}
