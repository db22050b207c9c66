// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// atOnce is how many comparisons of the Applications of one ApplicationSet are under way at once, at stepgate's
// request. Argo CD makes 20 at a time by default (--status-processors), so that a queue of as many keeps it busy. More
// would only be more that may turn out to be needless: the first ones may show that an earlier step has to sync first.
const atOnce = 40

// inTurn are comparisons in the order in which they unblock syncs: first those that only have to be woken, then those
// of the earliest step.
func inTurn(wanted []need) []need {
	slices.SortStableFunc(wanted, func(a, b need) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.app.String(), b.app.String()))
	})
	return wanted
}

// starts reports whether a request makes Argo CD make a need that it would not make now.
func (c need) starts() bool { return !c.pending && !c.idle && !c.unrecorded && !c.unpolled }

// requestAll asks for the comparisons that are due, as many as may be under way at once. The others follow when those
// have been made: each is a change, and so another reconciliation. It returns after how long the next one is due.
func (r *Releaser) requestAll(wanted []need, l *look) (again time.Duration) {
	again = reconcileEvery
	underWay := map[types.NamespacedName]bool{}
	for _, c := range wanted {
		p := l.project(c, r.known)
		if p == nil {
			continue
		}
		if app := &p.Application; c.settling && app.Unseen() {
			c.after, c.within = shownAfter(app, app.LastSync.ShownAfter())
		}
		if len(underWay) >= atOnce && c.starts() && !underWay[c.app] && !l.before.knows(c) {
			again = min(again, overlookedAfter)
			continue
		}
		due, counts := r.request(l, c, p)
		again = min(again, due)
		if counts {
			underWay[c.app] = true
		}
	}
	return again
}

// from is before when a need that was first found at since is not needed.
func (c need) from(since time.Time) time.Time {
	if latest := since.Add(c.within); c.within > 0 && c.after.After(latest) {
		return latest
	}
	return c.after
}

// key tells the need from others.
func (c need) key() needKey { return needKey{app: c.app, why: c.why, what: c.what, pending: c.pending} }

// knows reports whether a need has been wanted before, and had a place.
func (s *waitingSet) knows(c need) bool {
	return s.requests[c.key()] != nil
}

// reason is why a need is asked for. Where an operation has just ended, each request has a reason of its own: the
// last one may have been answered in the second in which the operation ended, and then the time of the comparison is
// still the same. So it is where an answer came too soon.
func (q *request) reason(c need) string {
	switch {
	case (c.settling || q.tooSoon) && q.asked > 0:
		return fmt.Sprintf("%s, request %d", c.why, q.asked+1)
	case c.what != "":
		return c.why + ": " + c.what
	}
	return c.why
}

// showing moves a request to when its answer shows that it is one. The last request is made again soon if it was taken
// away, or answered in the second of the comparison before, which looks the same. An answer of argocd-agent shows it only
// some time after the first request.
func (r *Releaser) showing(q *request, c need, p *argocd.Projection) {
	app, clock := &p.Application, r.judge.Clock.Now()
	if q.asked > 0 && !app.RefreshRequested && app.ReconciledAt.Equal(q.comparedAt) &&
		r.judge.Histories.RequestedSince(p.UID, q.position) {
		q.next = q.askedAt.Add(backoff(firstBackoffSettling, q.asked))
	}
	if q.asked > 0 && p.Relayed && !app.RefreshRequested && !app.ReconciledAt.Equal(q.comparedAt) {
		q.next, q.tooSoon = q.askedAt.Add(relayedAfter), true
	}
	wait := c.wait(clock)
	if wait == 0 {
		return
	}
	q.position = r.judge.Histories.Position() // a request until then does not help
	if !q.next.After(clock.Add(wait)) {
		q.next = clock.Add(wait + r.patience())
	}
}

// before is how long Argo CD, or whoever else is about to do what a need asks for, has for it.
func (r *Releaser) before(c need, p *argocd.Projection) time.Duration {
	app := &p.Application
	switch {
	case c.unrecorded:
		return unrecordedAfter
	case c.pending || c.idle:
		return overlookedAfter
	case c.why == turnHasCome && r.starter != nil:
		return startedWithin
	case c.synced:
		return noticedAfter
	case c.unhurried:
		return comparedAfter / 2 // in a train, the next sync comes soon, and what is not proven by then never is
	case c.settling && app.ReconciledAt.Before(app.LastSync.FinishedAt):
		return comparedAfter
	}
	return 0
}

// patience is how long this replica leaves it to another one to ask, or to be seen asking.
func (r *Releaser) patience() time.Duration {
	patience := r.random(spread)
	if r.leads != nil && !r.leads() {
		patience += followedAfter
	}
	return patience
}

// request asks for a need if it is due. It returns after how long it is due next, and whether it takes one of the
// places of those that are under way: it was asked for, or is about to be. One that has not been made for long has lost
// its place.
func (r *Releaser) request(l *look, c need, p *argocd.Projection) (again time.Duration, underWay bool) {
	key, clock, before, now := c.key(), r.judge.Clock.Now(), l.before, l.now
	first := key
	first.pending = false
	if c.pending && before.requests[first] != nil {
		now.requests[first] = before.requests[first] // it has been made, and is not made again when it is answered
	}
	q := now.requests[key]
	if q == nil {
		q = before.requests[key]
	}
	if q == nil {
		q = &request{position: r.judge.Histories.Position(), since: clock, patience: r.patience()}
	}
	now.requests[key] = q
	after := c.from(q.since)
	if after.After(clock) {
		q.position = r.judge.Histories.Position() // a request until then does not help
	}
	if first := q.since.Add(r.before(c, p)); q.asked == 0 && first.After(after) {
		q.next = first.Add(q.patience)
	} else if q.asked == 0 || q.next.Before(after) {
		q.next = after.Add(q.patience)
	}
	if c.newest {
		r.showing(q, c, p)
	}
	if q.asked > 0 && c.why == turnHasCome && r.waiting.StoppedSince(p.UID, q.askedAt) {
		q.next = q.askedAt.Add(backoff(firstBackoffStopped, q.asked))
	}
	if q.next.After(clock) {
		return q.next.Sub(clock), c.pending || c.starts() && clock.Sub(q.askedAt) < overlookedAfter || c.starts() &&
			q.asked == 0
	}
	switch {
	case c.pending:
		r.refresh.askAgain(c.app, c.comparedAt)
	case now.asked[c.app]:
	case !q.own && r.judge.Histories.RequestedSince(p.UID, q.position):
		q.position = r.judge.Histories.Position() // whoever has asked may ask once more
	default:
		r.refresh.ask(l.name, c.app, q.reason(c), c.comparedAt)
		now.asked[c.app], q.own, q.position = true, true, r.judge.Histories.Position()
	}
	q.asked++
	shortest := firstBackoff
	if c.settling {
		shortest = firstBackoffSettling
	}
	q.askedAt, q.comparedAt = clock, p.Application.ReconciledAt
	q.next = clock.Add(backoff(shortest, q.asked) + r.patience())
	return q.next.Sub(clock), c.pending || c.starts()
}
