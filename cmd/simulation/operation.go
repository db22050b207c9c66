// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"reflect"
	"strings"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operate adds an Application to the operation queue.
func (c *appController) operate(name string) {
	x := c.worker(name)
	switch {
	case x.operating:
		x.operateAgain = true
	case !x.operateQueued:
		x.operateQueued = true
		c.after(c.w.delay(2*time.Millisecond), func() { c.processOperation(name) })
	}
}

// operated ends the work on one item.
func (c *appController) operated(name string) {
	x := c.worker(name)
	x.operating = false
	if x.operateAgain {
		x.operateAgain = false
		c.operate(name)
	}
}

// processOperation is processAppOperationQueueItem: the cache tells whether there is anything to do, and the API server
// what.
func (c *appController) processOperation(name string) {
	x := c.worker(name)
	x.operateQueued = false
	cached := c.cache.apps[name]
	if cached == nil || cached.Operation == nil && cached.DeletionTimestamp == nil {
		return
	}
	app := c.w.api.apps[name]
	switch {
	case app == nil:
	case app.Operation != nil:
		x.operating = true
		c.begin(app)
	case app.DeletionTimestamp != nil:
		c.after(time.Second, func() { c.finalize(name) })
	}
}

// begin is processRequestedAppOperation: it starts an operation, tries one again or resumes one.
func (c *appController) begin(app *argo.Application) {
	name := app.Name
	old := app.Status.OperationState
	if terminates(app) {
		c.terminated(name)
		return
	}
	state := &argo.OperationState{Phase: synccommon.OperationRunning, Operation: *app.Operation, StartedAt: c.stamp(name)}
	if old != nil && !old.Phase.Completed() {
		next := *old
		state = &next
		if state.FinishedAt != nil {
			at, err := state.Operation.Retry.NextRetryAt(state.FinishedAt.Time, state.RetryCount)
			if wait := at.Sub(epoch) - c.w.now; err == nil && wait > 0 {
				c.after(wait, func() { c.refresh(name, latest) })
				c.operated(name)
				return
			}
			c.retry(state)
		}
	} else {
		c.w.members[name].truth.admitting = c.w.members[name].truth.latest
	}
	c.store(name, state)
	if m := c.w.members[name]; c.w.now < m.windowUntil {
		c.operated(name) // a closed sync window parks it; the next refresh looks again
		return
	}
	c.during(name, c.w.delay(20*time.Millisecond), func() { c.sync(name, app.Spec, state) })
}

// during goes on with a sync after a while, if nobody terminates it.
func (c *appController) during(name string, d time.Duration, do func()) {
	x := c.worker(name)
	sync := x.sync
	c.after(d, func() {
		if x.sync == sync {
			do()
		}
	})
}

// resolvedTo is when Argo CD had last resolved a branch to a revision before the operation was admitted. A revision
// that it had never found there was found by somebody else, at the latest when the operation was admitted.
func (m *member) resolvedTo(revision string) time.Duration {
	if at, ok := m.truth.resolvedAt[revision]; ok {
		return at
	}
	return m.truth.admitted
}

// retry clears the result, so that the next attempt resolves again what the operation does not name.
func (c *appController) retry(state *argo.OperationState) {
	if state.Operation.Retry.Refresh {
		sync := *state.Operation.Sync
		sync.Revision, sync.Revisions = "", nil
		state.Operation.Sync = &sync
	}
	state.FinishedAt, state.SyncResult = nil, nil
}

// sync is SyncAppState: it resolves the revisions and applies them.
func (c *appController) sync(name string, spec argo.ApplicationSpec, state *argo.OperationState) {
	m := c.w.members[name]
	op := state.Operation.Sync
	sources := spec.GetSources()
	if len(op.Sources) > 0 {
		sources = op.Sources
	} else if op.Source != nil {
		sources = argo.ApplicationSources{*op.Source}
	}
	revisions := op.Revisions
	if op.Revision != "" && len(revisions) == 0 {
		revisions = []string{op.Revision}
	}
	if before := state.SyncResult; before != nil {
		revisions = before.Revisions // it resumes after a restart
		if before.Revision != "" {
			revisions = []string{before.Revision}
		}
	}
	resolved := m.resolvedTo
	if len(revisions) == 0 {
		revisions = c.resolve(m, forceResolve)
		resolved = func(string) time.Duration { return c.w.now }
	}
	next := *state
	next.SyncResult = &argo.SyncOperationResult{ManagedNamespaceMetadata: namespaceMetadata(&spec)}
	if len(sources) > 1 {
		next.SyncResult.Sources, next.SyncResult.Revisions = sources, revisions
	} else {
		next.SyncResult.Source, next.SyncResult.Revision = sources[0], revisions[0]
	}
	// The operation may bring sources of its own. The destination is always the one of the specification.
	deployed := spec
	switch {
	case len(op.Sources) > 0:
		deployed.Sources = op.Sources
	case op.Source != nil && spec.SourceHydrator == nil:
		deployed.Source = op.Source
	}
	what := c.w.contentOf(&deployed, revisions)
	if !isFull(&state.Operation) {
		c.special(m, what, &next)
		return
	}
	c.w.logf("%s starts to sync %v", name, revisions)
	kind := Started
	if state.RetryCount > 0 {
		kind = Retried
	}
	c.w.tell(Observation{Kind: kind, Application: name, Text: strings.Join(revisions, ",")})
	m.operates, m.truth.failed, m.truth.stopped, m.live.partly = deploying(what, revisions), "", "", false
	c.w.asks(m, what, revisions)
	c.w.started(m, c.w.statesOf(m, what, revisions, resolved), deployed.Destination.Namespace)
	failed := c.deploy(m, what, next.SyncResult)
	c.store(name, &next)
	c.w.restartsAmid(m)
	c.during(name, c.w.delay(200*time.Millisecond)+m.slowSync, func() { c.end(name, &next, failed) })
	m.slowSync = 0
}

// deploy applies what an operation brings, and reports whether the operation is going to fail.
func (c *appController) deploy(m *member, what content, result *argo.SyncOperationResult) (failed bool) {
	switch {
	case m.failing > 0:
		m.failing--
		return true
	case c.w.effectOf(what) == fails:
		return true
	}
	c.w.apply(m, what)
	if c.w.effectOf(what) != hook {
		return false
	}
	result.Resources = argo.ResourceResults{
		{Group: "batch", Kind: "Job", Name: "smoke", HookType: "PostSync", SyncPhase: "PostSync", HookPhase: "Failed"},
	}
	return true
}

// pass completes an operation that is no sync of the whole Application. Of those, Argo CD writes history for manifests
// that somebody has brought along, as if the revision beside them were deployed.
func (c *appController) pass(name string, state *argo.OperationState) {
	if c.w.api.apps[name] != nil {
		next, at := *state, c.stamp(name)
		next.FinishedAt, next.Phase = &at, synccommon.OperationSucceeded
		c.w.logf("the operation of %s ends, which was no full sync", name)
		if len(next.Operation.Sync.Manifests) > 0 {
			c.record(name, &next)
		}
		c.store(name, &next)
		c.w.note(c.w.members[name])
		c.refresh(name, forceResolve)
	}
	c.operated(name)
}

// end completes an operation, or has it tried again.
func (c *appController) end(name string, state *argo.OperationState, failed bool) {
	m := c.w.members[name]
	if c.w.api.apps[name] == nil {
		c.operated(name)
		return
	}
	next := *state
	at := c.stamp(name)
	next.FinishedAt = &at
	again := failed && next.RetryCount < next.Operation.Retry.Limit
	switch {
	case again:
		next.RetryCount++
	case failed:
		next.Phase = synccommon.OperationFailed
		c.w.fails(m)
	default:
		next.Phase = synccommon.OperationSucceeded
		m.truth.ended = append(m.truth.ended, m.operates)
		m.live.pending, m.truth.under, m.truth.synced = false, false, m.live.content
		c.w.synced(m, &next)
		c.record(name, &next)
	}
	if !again {
		m.truth.full = &next
	}
	c.w.logf("the operation of %s ends: failed=%t again=%t", name, failed, again)
	c.store(name, &next)
	c.w.note(m)
	c.w.tellIfDone(m)
	switch {
	case again:
		c.operate(name)
	case next.Operation.InitiatedBy.Automated:
		c.refresh(name, c.w.traits.afterAutomated)
	default:
		c.refresh(name, forceResolve)
	}
	c.operated(name)
}

// record appends to the history.
func (c *appController) record(name string, state *argo.OperationState) {
	result := state.SyncResult
	entry := argo.RevisionHistory{
		Revision: result.Revision, Revisions: result.Revisions, Source: result.Source, Sources: result.Sources,
		DeployedAt: *state.FinishedAt, DeployStartedAt: &state.StartedAt,
		InitiatedBy: state.Operation.InitiatedBy,
	}
	c.w.api.edit(name, func(app *argo.Application) {
		if n := len(app.Status.History); n > 0 {
			entry.ID = app.Status.History[n-1].ID + 1
		}
		app.Status.History = append(app.Status.History[:len(app.Status.History):len(app.Status.History)], entry)
		app.Status.History = app.Status.History.Trunc(app.Spec.GetRevisionHistoryLimit())
	})
}

// store is setOperationState; a completed operation is removed. An API server does not store what changes nothing.
func (c *appController) store(name string, state *argo.OperationState) {
	if app := c.w.api.apps[name]; app != nil && !state.Phase.Completed() &&
		reflect.DeepEqual(app.Status.OperationState, state) {
		return
	}
	stored := c.w.api.edit(name, func(app *argo.Application) {
		app.Status.OperationState = state
		if state.Phase.Completed() {
			app.Operation = nil
		}
	})
	if stored {
		c.put(c.w.api.apps[name])
	}
}

func (c *appController) stamp(name string) metav1.Time { return c.w.stampAt(c.w.now + c.w.skew(name)) }

// delete marks an Application for deletion.
func (c *appController) delete(name string) {
	c.w.api.edit(name, func(app *argo.Application) {
		at := c.w.stamp()
		app.DeletionTimestamp = &at
	})
}

// finalize removes what an Application deployed, and the Application.
func (c *appController) finalize(name string) {
	m := c.w.members[name]
	m.live = live{settling: m.live.settling + 1}
	m.truth.reached, m.truth.ran, m.truth.synced, m.proof = nothing(), nothing(), content{}, proof{}
	m.truth.completed, m.truth.returns = [6]map[int]bool{}, returns{}
	c.w.api.remove(name)
	if m.imaged {
		m.imaged = false // the generator gives it from now on
		c.w.regenerate()
	}
}

func healthCode(s string) argoHealth { return argoHealth(s) }
