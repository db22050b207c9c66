// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
)

// overBudget reports whether more Applications of the step have failed, at what the operation deploys, than may. One
// that has failed itself may be synced again.
func (w *world) overBudget(o *sought) (unmet, bool) {
	if _, there := w.conditions.texts["max-failures"]; !there {
		return unmet{}, false
	}
	all, failures, gone := 0, 0, 0
	for _, name := range w.names {
		e := w.members[name]
		app := w.api.apps[name]
		switch {
		case app == nil || e.generated != o.step && stepOf(app) != o.step || w.apart(e, o.m):
			continue
		case app.DeletionTimestamp != nil || e.generated != stepOf(app) || e.settled > w.now-sameMoment:
			return unmet{}, false // it comes or goes
		}
		all++
		if !w.hasFailedAt(e, o) {
			continue
		}
		if e == o.m {
			return unmet{}, false
		}
		failures++
		if !slices.Equal(w.failedAt(e), app.Status.GetRevisions()) || w.hydratesOther(e) ||
			e.live.content.parameter != e.parameter.last() {
			gone++
		}
	}
	most, _ := w.conditions.budget(all)
	u := unmet{kind: "failures", text: fmt.Sprintf("%d of %d in its step have failed, and %d may", failures, all, most)}
	if failures-gone <= most {
		u.kind, u.limit = "failures, gone on", true
	}
	return u, failures > most
}

// hasFailedAt reports whether an Application has failed, or is Degraded as Argo CD knows, at what an operation deploys.
// Of sources that the two do not have in common, it is what the Application was compared with.
func (w *world) hasFailedAt(e *member, o *sought) bool {
	at, compared := w.failedAt(e), w.api.apps[e.name].Status.GetRevisions()
	if at == nil || !w.failed(e.name) &&
		(e.live.content.values != o.content.values || e.live.content.destination != o.content.destination) {
		return false // or it has not got the change of the template
	}
	for i, b := range e.sources {
		now := b.original(revisionAt(compared, i))
		for j, own := range o.m.sources {
			if w.part(o.m, j) == w.part(e, i) {
				now = own.original(revisionAt(o.revisions, j))
			}
		}
		if b.original(revisionAt(at, i)) != now {
			return false
		}
	}
	return true
}

// hydratesOther reports whether Argo CD shows that an Application that has failed is being hydrated from another commit
// than what it failed at.
func (w *world) hydratesOther(e *member) bool {
	op, b := w.api.apps[e.name].Status.SourceHydrator.CurrentOperation, e.sources[0]
	return op != nil && b.dry != nil && op.DrySHA != b.original(revisionAt(w.failedAt(e), 0))
}

// failedAt are the revisions at which an Application has failed, or is Degraded as Argo CD knows; nil when it is well.
func (w *world) failedAt(e *member) []string {
	app := w.api.apps[e.name]
	state := w.full(e.name)
	switch failed := w.failed(e.name); {
	case failed && state.SyncResult != nil && state.SyncResult.Revision != "":
		return []string{state.SyncResult.Revision}
	case failed && state.SyncResult != nil:
		return state.SyncResult.Revisions
	case failed || app.Operation != nil || e.live.health != "Degraded" || app.Status.Health.Status != "Degraded" ||
		e.live.pending:
		return nil
	}
	return e.proof.revisions
}

func revisionAt(revisions []string, i int) string {
	if i >= len(revisions) {
		return ""
	}
	return revisions[i]
}
