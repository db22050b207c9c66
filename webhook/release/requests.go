// SPDX-License-Identifier: Apache-2.0

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
	// Ask requests a refresh after a while. why is the reason, and comparedAt is when Argo CD last compared the
	// Application.
	Ask(app types.NamespacedName, why string, comparedAt time.Time, wait time.Duration)
	// AskAgain makes Argo CD notice a request that it has overlooked.
	AskAgain(app types.NamespacedName, comparedAt time.Time)
}

// Members gives the Applications of an ApplicationSet as last watched.
type Members interface {
	Owned(owner types.UID) []*argocd.Projection
}

// mostLately is how often an Application is refreshed after refusals within overlookedAfter, if Argo CD has compared it
// since the last time.
const mostLately = 2

// Requests are the refreshes that stepgate asks for. Whoever may ask for a sync has siblings refreshed when that is
// refused. So the requests after refusals are bounded, by the Application and whatever the reason: there are as many
// reasons as revisions. The Releaser bounds its own by what holds syncs up.
type Requests struct {
	refresh Refresher
	members Members
	clock   clock.PassiveClock

	mu sync.Mutex
	// lately are those of the last overlookedAfter, oldest first.
	lately []lately
}

// lately is a refresh that was asked for, for the syncs of an ApplicationSet, of an Application that was last compared
// at comparedAt.
type lately struct {
	set, app   types.NamespacedName
	comparedAt time.Time
	at         time.Time
}

// NewRequests returns Requests that are made with refresh.
func NewRequests(refresh Refresher, members Members, clock clock.PassiveClock) *Requests {
	return &Requests{refresh: refresh, members: members, clock: clock}
}

// AfterRefusal makes Argo CD compare again what a refusal finds to have been compared too early: whoever was refused
// may ask again soon. In audit mode it asks for nothing, and for a write that a Releaser releases, that does.
func (q *Requests) AfterRefusal(w *judge.Write, v judge.Verdict) {
	// A Releaser looks at what it releases in a moment, but it does not know the slots.
	later := v.Held && v.Released && v.Reason != policy.MaxUpdateReached
	if w.DryRun || v.Err != nil || !v.Rejects() || later {
		return
	}
	if v.Set != nil {
		w = w.In(v.Set.Namespace)
	}
	needed := slices.DeleteFunc(needs(v.Decision, &w.Target, w.Namespace), func(c need) bool {
		// Where a refresh is pending, somebody has asked.
		return c.pending || c.unpolled
	})
	if len(needed) == 0 {
		return
	}
	set, owned := argocd.AloneKey(w.Namespace, w.Target.Name), []*argocd.Projection(nil)
	if v.Set != nil {
		set = types.NamespacedName{Namespace: v.Set.Namespace, Name: v.Set.Name}
		owned = q.members.Owned(types.UID(v.Set.UID))
	}
	if nobodyCompared(&w.Target, owned) {
		return
	}
	for _, c := range q.few(set, needed, owned) {
		q.refresh.Ask(argocd.ObjectName(c.app), c.why, c.comparedAt, c.wait(q.clock.Now()))
	}
}

// nobodyCompared reports whether the operation names a revision with which none of the Applications is compared, and
// that none has run: to compare them again does not find it either. If none is known, nothing is known.
func nobodyCompared(t *policy.Target, owned []*argocd.Projection) bool {
	return len(owned) > 0 && slices.ContainsFunc(t.Wanted, func(s policy.Source) bool {
		return s.Revision != "" && !slices.Contains(t.Compared, s) && !slices.Contains(t.Ran, s) &&
			!slices.ContainsFunc(owned, func(p *argocd.Projection) bool {
				return slices.Contains(p.Application.Compared, s) || slices.Contains(p.Application.Ran, s)
			})
	})
}

// few are the first of what a refusal needs, and remembers them: no more than atOnce are under way for the syncs of an
// ApplicationSet.
func (q *Requests) few(set types.NamespacedName, needed []need, owned []*argocd.Projection) (few []need) {
	comparedAt := map[types.NamespacedName]time.Time{}
	for _, p := range owned {
		comparedAt[nameOf(p)] = p.Application.ReconciledAt
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget()
	underWay, times, last := 0, map[types.NamespacedName]int{}, map[types.NamespacedName]time.Time{}
	for _, l := range q.lately {
		if at, known := comparedAt[l.app]; l.set == set && (!known || at.Equal(l.comparedAt)) {
			underWay++
		}
		times[l.app]++
		last[l.app] = l.comparedAt
	}
	for _, c := range needed {
		if n := times[c.app]; n < mostLately && (n == 0 || !last[c.app].Equal(c.comparedAt)) && underWay < atOnce {
			few = append(few, c)
			q.lately = append(q.lately, lately{set, c.app, c.comparedAt, q.clock.Now()})
			underWay++
		}
	}
	return few
}

// ask asks for a refresh that the Releaser wants.
func (q *Requests) ask(set, app types.NamespacedName, why string, comparedAt time.Time) {
	q.mu.Lock()
	q.forget()
	q.lately = append(q.lately, lately{set, app, comparedAt, q.clock.Now()})
	q.mu.Unlock()
	q.refresh.Ask(argocd.ObjectName(app), why, comparedAt, 0)
}

// askAgain makes Argo CD notice a request that it has overlooked.
func (q *Requests) askAgain(app types.NamespacedName, comparedAt time.Time) {
	q.refresh.AskAgain(argocd.ObjectName(app), comparedAt)
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
