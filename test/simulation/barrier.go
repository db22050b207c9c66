package simulation

import (
	"context"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// grace is --refresh-grace-period-seconds of the ApplicationSet controller of 3.6.
const grace = 30 * time.Second

// barred is the refresh barrier of 3.6: nothing goes on while an Application was not compared since the newest change was
// noticed, and for 30 s after that. It has those Applications refreshed. Statuses are brought up to date all the same, but
// nothing becomes Pending.
func (c *setController) barred(set *argo.ApplicationSet, current, desired []argo.Application) (barred bool, err error) {
	since := time.Duration(-1)
	for _, s := range set.Status.ApplicationStatus {
		if s.Status == argo.ProgressiveSyncWaiting && strings.HasPrefix(s.Message, "Application has pending changes") && s.LastTransitionTime != nil {
			since = max(since, s.LastTransitionTime.Sub(epoch))
		}
	}
	if since < 0 {
		return false, nil
	}
	for _, app := range current {
		if app.Status.ReconciledAt == nil || app.Status.ReconciledAt.Sub(epoch) < since {
			barred = true
			c.w.askRefresh(app.Name, "the ApplicationSet controller")
		}
	}
	if !barred && c.w.now >= since+grace {
		return false, nil
	}
	c.wakeLater(max(time.Second, since+grace-c.w.now))
	steps := map[string]int{}
	for i := range desired {
		steps[desired[i].Name] = stepOf(&desired[i]) - 1
	}
	_, err = c.manager.upstream.UpdateApplicationSetApplicationStatus(context.Background(), c.manager.log, set, current, desired, steps)
	return true, err
}
