// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// The verbs of operations that are no sync of the whole Application from its sources.
const (
	byDryRun  = "dryrun"
	byPart    = "part"
	byPartial = "partial"
	byLocal   = "local"
)

// syncSpecially is such an operation by a user. Argo CD keeps its result like any other, in the place of that of the last
// sync. A dry run deploys nothing; the others are played in the first step, where nobody is asked: part is a sync of one
// resource that is as it should be, partial one of the only resource that differs, and local one of manifests that the
// user brings along.
func (w *world) syncSpecially(m *member, verb string) {
	app := w.api.apps[m.name]
	if app == nil || app.Operation != nil || app.DeletionTimestamp != nil || m.generated == 0 ||
		verb != byDryRun && (m.generated != 1 || stepOf(app) != 1) {
		return
	}
	sync := syncOf(app, w.heads(m)).Sync
	switch verb {
	case byDryRun:
		sync.DryRun = true
	case byPart, byPartial:
		sync.Resources = []argo.SyncOperationResource{{Group: "apps", Kind: "Deployment", Name: verb}}
	case byLocal:
		sync.Manifests = []string{`{"kind":"ConfigMap"}`}
	}
	w.serverWrites(app, sync)
}

// restartsAmid starts stepgate again in the middle of a sync that has begun, where that was asked for.
func (w *world) restartsAmid(m *member) {
	if m.amid {
		m.amid = false
		w.after(w.delay(50*time.Millisecond), w.restartAll)
	}
}

// isFull reports whether an operation syncs the whole Application from its sources.
func isFull(op *argo.Operation) bool {
	return !op.Sync.DryRun && len(op.Sync.Resources) == 0 && len(op.Sync.Manifests) == 0
}

// special deploys what such an operation does. A partial one runs no hooks.
func (c *appController) special(m *member, what content, state *argo.OperationState) {
	switch op := state.Operation.Sync; {
	case op.DryRun:
	case len(op.Manifests) > 0:
		was, proof := *m.live.synced(), m.proof
		c.w.apply(m, c.w.ownContent(what))
		m.live.instead, m.proof.applied, m.proof.relocated = &was, proof.applied, proof.relocated
		m.live.pending = false
	case op.Resources[0].Name == byPartial:
		had := m.live.exists && m.live.content == what
		c.w.apply(m, what)
		if c.w.effectOf(what) != hook {
			m.live.pending = false
		} else if !had {
			m.live.partly = true
		}
	}
	next := *state
	c.store(m.name, &next)
	c.w.restartsAmid(m)
	c.during(m.name, c.w.delay(100*time.Millisecond), func() { c.pass(m.name, &next) })
}

// full is the last full sync of an Application, as its status tells it, or as it ended before something else took the
// slot of its result; nil if an operation waits that has cleared it.
func (w *world) full(name string) *argo.OperationState {
	app := w.api.apps[name]
	state, waits := app.Status.OperationState, app.Operation
	if state == nil && (waits == nil || isFull(waits)) || state != nil && isFull(&state.Operation) {
		return state
	}
	return w.members[name].truth.full
}

// ownContent is what a user brings along: nothing of it is in git.
func (w *world) ownContent(c content) content {
	for i := range c.source {
		w.contents = append(w.contents, good)
		c.source[i] = len(w.contents) - 1
	}
	c.values, c.parameter = byLocal, byLocal
	return c
}

// syncOwn is a sync of manifests that a user brings along, or of another source. Nothing of it may start in a later
// step. In the first one it is not played, nor where the generator has moved it to a later one, and the ApplicationSet
// controller has not said so yet.
func (w *world) syncOwn(m *member, manifests bool) {
	app := w.api.apps[m.name]
	if app == nil || app.Operation != nil || app.DeletionTimestamp != nil || m.generated < 2 || w.stepOf(m) < 2 ||
		w.api.orphaned(app) {
		return
	}
	later := func(s argo.ApplicationSetApplicationStatus) bool { return s.Application == m.name && s.Step != "1" }
	if stepOf(app) < 2 && !slices.ContainsFunc(m.family.live.Status.ApplicationStatus, later) {
		return
	}
	source := app.Spec.GetSource()
	source.Path = "elsewhere"
	sync := &argo.SyncOperation{Source: &source, Revision: w.heads(m)[0]}
	if manifests {
		sync.Source, sync.Manifests = nil, []string{`{"kind":"ConfigMap"}`}
	}
	next := *app
	next.Operation = byUser(sync)
	write := Write{Old: app, New: &next, By: serverAccount}
	if write.New = w.gate.Mutate(write); write.New.Operation == nil {
		return
	}
	v := w.gate.Decide(write)
	w.logf("somebody syncs content of his own to %s: %s", m.name, v)
	if v.Allowed && !w.bypassed() {
		w.early = append(w.early, Early{
			At: w.now, Target: m.name, Missing: "content of its own", Kind: "foreign", Reason: string(v.Reason),
		})
	}
}
