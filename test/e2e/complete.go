package main

import (
	"context"
	"errors"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/e2e/observer"
)

// complete waits until every member has the newest state. It is not an error when it does not: finished stays zero.
func (r *rollout) complete(ctx context.Context) error {
	err := until(ctx, r.scenario.within(), func() (bool, error) { return r.isComplete(ctx) })
	if errors.Is(err, errTimeout) {
		return nil
	}
	if err == nil {
		r.finished = time.Now()
	}
	return err
}

// nudge refreshes an Application whose operation the application controller of Argo CD 3.5.7 has overlooked: when one is
// written while it records the end of the one before, it may not look again until the next periodic comparison, which
// is hours away here.
func (r *rollout) nudge(ctx context.Context) error {
	for _, m := range r.members {
		if !r.recorder.lost(string(r.mode), m.name) || time.Since(r.nudgedAt) < overlooked {
			continue
		}
		r.nudged, r.nudgedAt = r.nudged+1, time.Now()
		if err := r.annotate(ctx, m, "normal"); err != nil {
			return err
		}
	}
	return nil
}

func (r *rollout) isComplete(ctx context.Context) (bool, error) {
	if err := r.nudge(ctx); err != nil {
		return false, err
	}
	for _, m := range r.members {
		app := r.recorder.app(string(r.mode), m.name)
		if m.removed {
			if app != nil {
				return false, nil
			}
			continue
		}
		if app == nil || !m.settled(app) {
			return false, nil
		}
	}
	for _, m := range r.members {
		if m.removed {
			continue
		}
		if deployed, err := r.deployed(ctx, m); err != nil || deployed != m.version {
			return false, err
		}
	}
	return true, nil
}

// settled says that the Application is at the state of the newest change, by its status.
func (m *member) settled(app *argo.Application) bool {
	seen, err := observer.Observe(app, false, time.Time{})
	want := m.changes[len(m.changes)-1]
	return err == nil && seen.Synced && seen.Health == "Healthy" && seen.Compared == want && !seen.OperationSet
}

// deployed is the version that the cluster really has.
func (r *rollout) deployed(ctx context.Context, m *member) (string, error) {
	var live corev1.ConfigMap
	err := r.admin.Get(ctx, types.NamespacedName{Namespace: r.mode.destination(), Name: m.name}, &live)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return live.Data["version"], err
}
