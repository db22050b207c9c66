// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

// retryPlays are rollouts in which a sync of step 3 comes to no good end by itself.
func retryPlays() []gatedPlay {
	all := []gatedPlay{
		{
			scenario: scenario{
				key: "retry-refresh", title: "a commit fails in step 3, which retries it with `retry.refresh`; the next commit repairs it",
				template: refreshed, limit: 3 * time.Minute, play: repairedByCommit,
			},
			gates: []mode{on, starting},
		},
		{
			scenario: scenario{
				key: "terminated", title: "somebody terminates the sync of step 3, and later syncs it again", quick: true, manual: true,
				limit: 3 * time.Minute,
				play:  terminated,
			},
			gates: []mode{on, starting},
		},
	}
	for i := range all {
		all[i].each, all[i].world = 1, true
	}
	return all
}

// refreshed retries a failed sync with the newest commit, many times: after 20 s, and then after 400 s. Of those, only the
// first is within 5 minutes.
func refreshed(_ *rollout, spec *argo.ApplicationSpec) {
	factor := int64(20)
	spec.SyncPolicy = &argo.SyncPolicy{Retry: &argo.RetryStrategy{
		Limit: 100, Refresh: true, Backoff: &argo.Backoff{Duration: "1s", Factor: &factor, MaxDuration: "10m"},
	}}
}

// repairedByCommit has a commit fail in prod for want of a namespace. The next one does without.
func repairedByCommit(r *rollout) {
	prod := r.one("prod")
	later := prod.path + "/later.yaml"
	r.begin()
	r.versionWith("2", files{
		later: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: later\n  namespace: " + r.name + "-missing\n",
	})
	r.refresh(r.in(backwards()...)...)
	r.untilEach("a failed sync that is to be tried again", []*member{prod}, func(_ *member, app *argo.Application) bool {
		return app.Operation != nil && app.Status.OperationState != nil && app.Status.OperationState.RetryCount > 0
	})
	r.versionWith("3", files{later: ""})
	r.refresh(r.in(backwards()...)...)
}

// terminated has somebody terminate the sync of prod while a hook runs. It stays so: nobody but he starts it again.
func terminated(r *rollout) {
	prod := r.one("prod")
	r.begin()
	r.versionWith("2", prod.smokeTest("Progressing"))
	r.refresh(r.in(backwards()...)...)
	r.until("a running hook of "+prod.name, func() bool { return len(r.hooks(prod)) > 0 && r.live(prod).Operation != nil })
	began := r.live(prod).Status.OperationState.StartedAt
	text, err := r.clis[r.mode].Terminate(r.ctx, prod.name)
	script.Mustf(err, "argocd app terminate-op %s: %s", prod.name, text)
	isAgain := func() bool { return !r.live(prod).Status.OperationState.StartedAt.Equal(&began) }
	r.until("the end of the sync", func() bool {
		last := r.live(prod).Status.OperationState
		return isAgain() ||
			last.Phase == synccommon.OperationFailed && strings.HasPrefix(last.Message, "Operation terminated")
	})
	r.refresh(prod)
	r.pause(standsStill)
	switch again := r.live(prod).Operation != nil || isAgain(); {
	case again && r.mode != off:
		script.Fail("the sync of %s was started again: %s", prod.name, r.summary())
	case again:
		r.note = "it was started again by itself"
	default:
		r.sync(prod)
	}
	r.until("a running hook of "+prod.name, func() bool {
		return r.live(prod).Operation != nil && len(r.running(prod)) > 0
	})
	for _, hook := range r.running(prod) {
		r.annotateObject(&hook, argocd.HealthAnnotation, "Healthy")
	}
}

// running are the hooks of a member that nobody deletes.
func (r *rollout) running(m *member) []corev1.ConfigMap {
	return slices.DeleteFunc(r.hooks(m), func(c corev1.ConfigMap) bool { return c.DeletionTimestamp != nil })
}
