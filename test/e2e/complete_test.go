// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// overlookedAfter is how long an operation is set before the application controller counts as having overlooked it.
	overlookedAfter = 8 * time.Second
	// refreshOverlookedAfter is the same for a refresh. The gate itself asks again after 10 s; the suite leaves it the
	// time.
	refreshOverlookedAfter = 20 * time.Second
)

// complete waits until every member has the newest state. When that takes too long, finished stays zero.
func (r *rollout) complete() {
	r.finished = time.Time{}
	if r.wait(r.scenario.within(), r.isComplete) == nil {
		r.finished = time.Now()
	}
	script.Must(r.ctx.Err())
}

// refreshOverlooked refreshes an Application whose operation, or whose refresh, the application controller of Argo CD
// 3.5.7 has overlooked. When either is written while the controller records the end of an operation, the controller may
// not look again until the next periodic comparison, which is hours away here. To ask for a refresh that is asked for
// already is no change, and no event; so the annotation is removed first.
func (r *rollout) refreshOverlooked() {
	for _, m := range r.members {
		at := r.runs(m)
		operation, refresh := r.recorder.overlooked(at.Namespace, at.Name)
		if !operation && !refresh || time.Since(r.overlookedAt) < overlookedAfter {
			continue
		}
		r.overlooked, r.overlookedAt = r.overlooked+1, time.Now()
		if refresh {
			r.annotate(m, argo.AnnotationKeyRefresh, "")
		}
		r.refreshAtOnce(m)
	}
}

func (r *rollout) isComplete() bool {
	r.refreshOverlooked()
	for _, m := range r.members {
		app := r.live(m)
		if m.removed && app != nil || !m.removed && (app == nil || !m.atNewest(app)) {
			return false
		}
	}
	for _, m := range r.members {
		if !m.removed && r.deployed(m) != m.version {
			return false
		}
	}
	return true
}

// atNewest says that the Application is at the state of the newest change, by its status.
func (m *member) atNewest(app *argo.Application) bool {
	seen, err := observer.Observe(app, false, time.Time{})
	return err == nil && (seen.Synced || m.leftover && seen.Leftover) && seen.Health == "Healthy" &&
		seen.Compared == m.newest() && !seen.OperationSet
}

// untilNewest waits until a member has the newest state.
func (r *rollout) untilNewest(m *member) {
	r.untilEach(m.name+" at the newest state", []*member{m}, (*member).atNewest)
}

// deployed is the version that the cluster really has.
func (r *rollout) deployed(m *member) string { return r.inCluster(m)["version"] }

// inCluster is what the cluster really has.
func (r *rollout) inCluster(m *member) map[string]string {
	var live corev1.ConfigMap
	err := r.clientOf(m).Get(r.ctx, types.NamespacedName{Namespace: m.destination, Name: m.name}, &live)
	if !apierrors.IsNotFound(err) {
		script.Must(err)
	}
	return live.Data
}
