// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// somebody is a person.
const somebody = "somebody"

// terminate is what argocd-server writes for a user who terminates an operation, or stepgate for one that is in the way.
// The application controller ends it with the next look: what it has applied stays, and nothing is tried again.
func (w *world) terminate(m *member, who string) {
	app := w.api.apps[m.name]
	if app == nil || app.Operation == nil || app.Status.OperationState == nil ||
		app.Status.OperationState.Phase != synccommon.OperationRunning {
		return
	}
	w.logf("%s terminates the operation of %s", who, m.name)
	if who == somebody && isFull(&app.Status.OperationState.Operation) {
		m.truth.stopped = m.operates
	}
	w.api.edit(m.name, func(app *argo.Application) {
		state := *app.Status.OperationState
		state.Phase, app.Status.OperationState = synccommon.OperationTerminating, &state
	})
	x := w.app.worker(m.name)
	x.sync++ // the sync that runs ends with it
	w.app.after(w.delay(50*time.Millisecond), func() { w.app.terminated(m.name) })
}

// terminates reports whether the operation of an Application is being terminated.
func terminates(app *argo.Application) bool {
	return app != nil && app.Status.OperationState != nil &&
		app.Status.OperationState.Phase == synccommon.OperationTerminating
}

// terminated ends an operation that is being terminated.
func (c *appController) terminated(name string) {
	app, m := c.w.api.apps[name], c.w.members[name]
	if !terminates(app) {
		return
	}
	next, at := *app.Status.OperationState, c.stamp(name)
	next.Phase, next.FinishedAt, next.Message = synccommon.OperationFailed, &at, "Operation terminated"
	if isFull(&next.Operation) {
		m.truth.full = &next
		if next.SyncResult != nil {
			c.w.fails(m)
		}
	}
	c.w.logf("the operation of %s ends: terminated", name)
	c.store(name, &next)
	c.refresh(name, forceResolve)
	c.operated(name)
}

// fails is called when a sync has failed for good.
func (w *world) fails(m *member) {
	m.truth.failed = m.operates
	if spec := w.api.apps[m.name].Spec; m.live.content != w.contentOf(&spec, w.heads(m)) || m.proof.applied {
		m.proof.broken = w.now // else it has what the branch has by now, and only what it has not was tried
	}
	w.tell(Observation{Kind: Failed, Application: m.name})
}
