// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// grace is --refresh-grace-period-seconds of the ApplicationSet controller of 3.6, unless the scenario has none.
func (s *Scenario) grace() time.Duration {
	if s.NoGrace {
		return 0
	}
	return 30 * time.Second
}

// errBarred ends upstream's PerformProgressiveSyncs where the one of 3.6 returns because of its barrier.
var errBarred = errors.New("not all Applications have been compared")

// barred is the refresh barrier of 3.6, ensureApplicationsReconciled
// (applicationset/progressivesync/progressive_sync.go:764-805, v3.6.1): nothing goes on before the grace period has
// passed since the newest change was noticed, nor while an Application was not compared since. Only after the grace
// period it has those Applications refreshed. Statuses are up to date by then (line 143), but nothing becomes Pending.
// before is when a change had been noticed last before this pass (line 141).
func (c *setController) barred(set *argo.ApplicationSet, before time.Duration) error {
	since := before
	if since == unnoticed {
		since = noticed(set)
	}
	switch {
	case since == unnoticed:
		return nil
	case c.w.now < since+c.w.scenario.grace():
		return errBarred
	}
	var err error
	for _, app := range c.current() {
		if app.Status.ReconciledAt == nil || app.Status.ReconciledAt.Sub(epoch) < since {
			err = errBarred
			c.w.askRefresh(app.Name, "the ApplicationSet controller")
		}
	}
	return err
}

// unnoticed is the time of a change that has not been noticed.
const unnoticed = time.Duration(-1)

// noticed is when the newest change was noticed of which an Application is still Waiting, or unnoticed:
// GetLatestWaitingTransitionTimeOfAppset (progressive_sync.go:671-688). An Application that is new, or that was Synced
// when its spec changed, does not count: it has another message, or is not Waiting.
func noticed(set *argo.ApplicationSet) time.Duration {
	at := unnoticed
	for _, s := range set.Status.ApplicationStatus {
		if s.Status == argo.ProgressiveSyncWaiting && slices.Contains(pendingChanges, s.Message) &&
			s.LastTransitionTime != nil {
			at = max(at, s.LastTransitionTime.Sub(epoch))
		}
	}
	return at
}

// pendingChanges are the messages that count (progressive_sync.go:35-37 and 690).
var pendingChanges = []string{
	"Application has pending changes (revision and spec differ), setting status to Waiting",
	"Application has pending changes, setting status to Waiting",
	"Application has pending changes (spec differs), setting status to Waiting",
}

// wakeForBarrier is what 3.6 adds to getMinRequeueAfter
// (applicationset/controllers/applicationset_controller.go:661-671, v3.6.1): the controller comes back when the grace
// period ends, and then every second as long as an Application is Waiting. Without a grace period it waits for an
// event.
func (c *setController) wakeForBarrier(set *argo.ApplicationSet) {
	if since := noticed(set); c.w.traits.barrier && !c.w.scenario.NoGrace && since != unnoticed {
		left := since + c.w.scenario.grace() - c.w.now
		if left <= 0 {
			left, c.polls = time.Second, true
		}
		c.wakeLater(left)
	}
}
