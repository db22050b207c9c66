// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

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

// unnoticed reports whether the ApplicationSet controller should have noticed that an Application has to be synced.
func unnoticed(p *argocd.Projection, set *policy.ApplicationSet) bool {
	return p.Application.SyncStatus == "OutOfSync" && set.Recorded[p.Name].Behind(p.Application.Compared)
}

// waits reports whether an Application has a sync to come that may have been held or denied.
func waits(p *argocd.Projection, set *policy.ApplicationSet) bool {
	a := &p.Application
	if a.Deleting || a.OperationSet || a.LastOperation.Running() {
		return false
	}
	return set.Recorded[a.Name].Pending || unnoticed(p, set) || p.AutoSync && a.SyncStatus == "OutOfSync" &&
		!a.LastSync.AtCompared
}

// unrecorded reports whether the ApplicationSet controller should have recorded that an Application is done: it starts
// no later step, and shows the ApplicationSet as progressing, until it has. From v3.4.13 on, if not before, it may go
// by an old state for good: it stores the answer to each write of its own in its cache (cacheSyncingClient in
// applicationset/utils/client.go, v3.5.7). A write that changes nothing, such as one whose operation is held, is
// answered with the object as it was read, and that may be older than what the cache has. The next event of the
// Application repairs it.
func unrecorded(p *argocd.Projection, set *policy.ApplicationSet) bool {
	a := &p.Application
	r, recorded := set.Recorded[a.Name]
	return recorded && r.Step > 0 && !r.Pending && !r.Healthy && a.SyncStatus == "Synced" && a.Health == "Healthy" &&
		!a.Deleting && !a.OperationSet && !a.LastOperation.Running()
}

// overdue is for how long Argo CD still has to start a sync in step 1, which waits for nothing; zero if it should have,
// and for the syncs of other steps. A sync that has failed is not started again by Argo CD. The time begins with the
// first comparison that has found something to deploy: newer commits, and drift, do not put it off.
func (r *Releaser) overdue(l *look, d policy.Decision, p *argocd.Projection) time.Duration {
	set := &l.Set.ApplicationSet
	a, last := &p.Application, &p.Application.LastFull
	if d.Reason != policy.FirstStep || r.waiting.Waits(p.UID) {
		return 0
	}
	since := a.ReconciledAt
	if recorded := set.Recorded[a.Name]; recorded.Pending && recorded.TransitionedAt.After(since) {
		since = recorded.TransitionedAt
	}
	if first, known := l.before.first[a.Name]; known && first.Before(since) {
		since = first
	}
	l.now.first[a.Name] = since
	if last.AtCompared && last.Phase != "Succeeded" && !set.Recorded[a.Name].Pending {
		return reconcileEvery
	}
	return max(0, since.Add(overdueAfter).Sub(r.judge.Clock.Now()))
}
