// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// userSync is a sync by a user through argocd-server, which resolves the revisions itself.
func (w *world) userSync(m *member, revisions []string) {
	app := w.api.apps[m.name]
	if app == nil || app.Operation != nil || app.DeletionTimestamp != nil {
		return
	}
	w.serverWrites(app, syncOf(app, revisions).Sync)
}

// named are the revisions that a user names by the position of a source: that one is so many states before the head of its
// branch.
func (w *world) named(m *member, position, before int) []string {
	revisions := w.heads(m)
	if i := position - 1; i >= 0 && i < len(m.sources) {
		b := m.sources[i]
		revisions[i] = b.states[max(b.head()-before, 0)].revision
	}
	return revisions
}

// byHand makes somebody look every 20 s whether the earlier steps are done, and sync an Application then.
func (w *world) byHand(m *member) {
	app := w.api.apps[m.name]
	waits := slices.ContainsFunc(w.undone(), func(name string) bool { return w.members[name].generated < m.generated })
	if app != nil && app.Status.Sync.Status == argo.SyncStatusCodeOutOfSync && !waits {
		w.userSync(m, w.heads(m))
	}
	w.after(20*time.Second, func() { w.byHand(m) })
}

// syncOf is the operation that argocd-server writes for a user.
func syncOf(app *argo.Application, revisions []string) *argo.Operation {
	sync := &argo.SyncOperation{}
	if sources := app.Spec.GetSources(); len(sources) > 1 {
		sync.Sources, sync.Revisions = sources, revisions
	} else {
		sync.Source, sync.Revision = &sources[0], revisions[0]
	}
	return byUser(sync)
}

func byUser(sync *argo.SyncOperation) *argo.Operation {
	return &argo.Operation{InitiatedBy: argo.OperationInitiator{Username: "admin"}, Sync: sync}
}

func (w *world) serverWrites(app *argo.Application, sync *argo.SyncOperation) {
	next := *app
	next.Operation = byUser(sync)
	next.Status.OperationState = nil
	_ = w.api.operationWrite(&next, serverAccount) // who is refused is told, and does nothing
}

// try makes a commit that is on no branch, and syncs an Application of the first step to it.
func (w *world) try(m *member) {
	b := m.sources[0]
	if m.generated != 1 || stepOf(w.api.apps[m.name]) != 1 || len(m.sources) > 1 || b.dry != nil {
		return
	}
	b.tried = w.commit(b, b.states[b.head()].revision, w.paths("all"), good)
	w.userSync(m, []string{b.tried})
}

// rollback syncs to an entry of the history: the newest that is not what was deployed last, or one so many before it.
func (w *world) rollback(m *member, before int) {
	app := w.api.apps[m.name]
	if app == nil || app.Operation != nil {
		return
	}
	older := deployments(app.Status.History)
	if len(older) < 2 {
		return
	}
	entry := older[max(len(older)-2-before, 0)]
	sync := &argo.SyncOperation{
		Revision: entry.Revision, Revisions: entry.Revisions,
		SyncStrategy: &argo.SyncStrategy{Apply: &argo.SyncStrategyApply{}},
	}
	if len(entry.Sources) > 0 {
		sync.Sources = entry.Sources
	} else {
		sync.Source = &entry.Source
	}
	w.serverWrites(app, sync)
}

// deployments are the entries of a history without those that deployed the same again.
func deployments(history argo.RevisionHistories) (all argo.RevisionHistories) {
	for _, h := range history {
		if n := len(all); n > 0 && all[n-1].Revision == h.Revision && slices.Equal(all[n-1].Revisions, h.Revisions) &&
			all[n-1].Source.Equals(&h.Source) && all[n-1].Sources.Equals(h.Sources) {
			continue
		}
		all = append(all, h)
	}
	return all
}

// askRefresh sets the refresh annotation.
func (w *world) askRefresh(name, who string) {
	app := w.api.apps[name]
	if app == nil {
		return
	}
	if _, there := app.Annotations[argo.AnnotationKeyRefresh]; there {
		return
	}
	w.logf("%s asks for a refresh of %s", who, name)
	if who == "stepgate" {
		w.refreshes++
		w.tell(Observation{Kind: Refreshed, Application: name})
	}
	w.api.edit(name, func(app *argo.Application) {
		annotated(app, argo.AnnotationKeyRefresh, string(argo.RefreshTypeNormal))
	})
}

// askRefreshAgain changes the refresh annotation, if it is still there.
func (w *world) askRefreshAgain(name string) {
	app := w.api.apps[name]
	if app == nil || app.Annotations[argo.AnnotationKeyRefresh] == "" {
		return
	}
	w.logf("stepgate asks again for a refresh of %s", name)
	w.refreshes++
	w.api.edit(name, func(app *argo.Application) {
		annotated(app, argo.AnnotationKeyRefresh,
			map[bool]string{true: "normal-again", false: "normal"}[app.Annotations[argo.AnnotationKeyRefresh] == "normal"])
	})
}

// relabel gives an Application another label: of another step, or of another track. The ApplicationSet controller is about
// to write it again.
func (w *world) relabel(m *member, label, value string) {
	if w.api.apps[m.name] == nil || m.generated == 0 {
		return
	}
	m.relabelled = m.relabelled || label == "step"
	w.api.edit(m.name, func(app *argo.Application) {
		app.Labels = maps.Clone(app.Labels)
		app.Labels[label] = value
	})
}
