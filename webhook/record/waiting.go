// SPDX-License-Identifier: Apache-2.0

package record

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

const (
	// mostWaiting bounds the Applications that are remembered. One more evicts the one that nobody has asked for, and
	// no Releaser has found waiting, for longest. It is more than wait at a time, because an evicted one that comes
	// back waits only since then.
	mostWaiting = 10_000
	// forgetAfter is how long a denial is remembered when nobody asks again, and no Releaser finds that the Application
	// still waits. A user who gave up must not look like an ApplicationSet that hangs.
	forgetAfter = 20 * time.Minute
)

// Known gives the state of Applications as last watched; it may be out of date. No decision is made from it here.
type Known interface {
	// Owned returns the Applications that an ApplicationSet controls, or the one of this UID that none does.
	Owned(owner types.UID) []*argocd.Projection
}

// Waiting knows which Applications wait, and since when: a sync of them was held or denied, and they have not synced
// since. It is one metric, whatever their number. Every replica answers only some of the writes, but the watches show
// every replica which Applications wait, and when one gets through. It forgets by itself: by time, and when it is full.
type Waiting struct {
	known Known
	clock clock.PassiveClock

	mu      sync.Mutex
	waiting *cache.LRUExpireCache // *waiter by the types.UID of the Application
}

// waiting is an Application whose sync was held or denied.
type waiter struct {
	owner types.UID
	first time.Time
	// stopped is when a sync of it was last held or denied by this replica.
	stopped time.Time
	// names are those who held it up last, and reason is why.
	names  string
	reason policy.Reason
	// stuck is since when it waits for something that nobody has asked for; zero while it waits for a condition that
	// somebody has set up.
	stuck time.Time
}

// NewWaiting returns a Waiting that looks in known whether an Application has got through.
func NewWaiting(known Known, clock clock.PassiveClock) *Waiting {
	return &Waiting{known: known, clock: clock, waiting: cache.NewLRUExpireCacheWithClock(mostWaiting, clock)}
}

// wait is how long an Application has waited for its turn, and for whom last. It is zero if it has not waited, or
// that is not known.
type wait struct {
	took  time.Duration
	names string
}

// note remembers a write that was held or denied. Audit mode blocks nothing. Of one that is allowed it returns the wait
// that is over.
func (b *Waiting) note(w *judge.Write, v judge.Verdict) (over wait) {
	if v.Err != nil || w.UID == "" {
		return wait{}
	}
	owner := w.UID // of an Application that nothing orders
	if v.Set != nil {
		owner = types.UID(v.Set.UID)
	}
	switch {
	case v.Rejects() && v.Reason != policy.AlreadySynced:
		b.Wait(w.UID, owner, v.Decision)
		b.stop(w.UID)
	case v.Outcome == policy.Allow && w.Target.Operation.Automated:
		return b.release(w.UID)
	}
	return wait{}
}

// get returns what is remembered of an Application; nil if that is nothing. The caller holds the lock.
func (b *Waiting) get(app types.UID) *waiter {
	found, _ := b.waiting.Get(app)
	w, _ := found.(*waiter)
	return w
}

// Wait remembers that an Application waits.
func (b *Waiting) Wait(app, owner types.UID, d policy.Decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, w := b.clock.Now(), b.get(app)
	if w == nil {
		w = &waiter{owner: owner, first: now}
	}
	b.waiting.Add(app, w, forgetAfter)
	w.names, w.reason = d.Names(), d.Reason
	switch {
	case d.Meant():
		w.stuck = time.Time{}
	case w.stuck.IsZero():
		w.stuck = now
	}
}

func (b *Waiting) stop(app types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.get(app); w != nil {
		w.stopped = b.clock.Now()
	}
}

// StoppedSince reports whether this replica has held or denied a sync of an Application that waits since a time.
func (b *Waiting) StoppedSince(app types.UID, since time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.get(app)
	return w != nil && w.stopped.After(since)
}

// Waits reports whether an Application is known to wait.
func (b *Waiting) Waits(app types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.get(app) != nil
}

func (b *Waiting) release(app types.UID) (over wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.get(app)
	if w == nil {
		return wait{}
	}
	b.waiting.Remove(app)
	return wait{b.clock.Now().Sub(w.first), w.names}
}

// Drop drops an Application that waits no longer, as the watches show it.
func (b *Waiting) Drop(p *argocd.Projection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.get(p.UID); w != nil && gotThrough(&p.Application, w.first) {
		b.waiting.Remove(p.UID)
	}
}

// remembered returns the Applications that still wait, as the watches show them now.
func (b *Waiting) remembered() []*waiter {
	var all []*waiter
	owned := map[types.UID]map[types.UID]*argocd.Projection{}
	for _, key := range b.waiting.Keys() {
		uid, _ := key.(types.UID)
		w := b.get(uid)
		if w == nil {
			continue
		}
		if owned[w.owner] == nil {
			owned[w.owner] = map[types.UID]*argocd.Projection{}
			for _, p := range b.known.Owned(w.owner) {
				owned[w.owner][p.UID] = p
			}
		}
		if p := owned[w.owner][uid]; p == nil || gotThrough(&p.Application, w.first) {
			b.waiting.Remove(uid)
			continue
		}
		all = append(all, w)
	}
	return all
}

// gotThrough reports whether the Application syncs, or has synced since; Argo CD's times have a resolution of one
// second.
func gotThrough(app *policy.Application, since time.Time) bool {
	finished := app.LastOperation.FinishedAt
	return app.OperationSet || app.LastOperation.Phase == "Running" || !finished.Before(since.Truncate(time.Second))
}

func (b *Waiting) desc() *prometheus.Desc {
	return prometheus.NewDesc("stepgate_applicationset_blocked_since_timestamp_seconds",
		"When the first sync was held or denied, in Unix seconds, of the ApplicationSet that has been blocked for "+
			"longest; no sample while none is blocked. Pauses, soak times, approvals and sync windows do not count.", nil, nil)
}

func (b *Waiting) conditionDesc() *prometheus.Desc {
	return prometheus.NewDesc("stepgate_condition_waiting_applications",
		"Applications that wait for a condition of their step, by reason.", []string{"reason"}, nil)
}

// Describe implements prometheus.Collector.
func (b *Waiting) Describe(out chan<- *prometheus.Desc) {
	out <- b.desc()
	out <- b.conditionDesc()
}

// Collect implements prometheus.Collector.
func (b *Waiting) Collect(out chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var oldest time.Time
	conditions := map[policy.Reason]int{}
	for _, w := range b.remembered() {
		if !w.stuck.IsZero() && (oldest.IsZero() || w.stuck.Before(oldest)) {
			oldest = w.stuck
		}
		if w.reason.Condition() {
			conditions[w.reason]++
		}
	}
	for reason, applications := range conditions {
		out <- prometheus.MustNewConstMetric(b.conditionDesc(), prometheus.GaugeValue, float64(applications), string(reason))
	}
	if !oldest.IsZero() {
		out <- prometheus.MustNewConstMetric(b.desc(), prometheus.GaugeValue, float64(oldest.Unix()))
	}
}
