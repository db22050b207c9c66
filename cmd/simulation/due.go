// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// specSettles is how long after a change of the spec of one Application those of others may still be written: the
// SettlingTime of stepgate.
const specSettles = 10 * time.Second

// dueEvery is how often the world looks what is due.
const dueEvery = 500 * time.Millisecond

// watchDue notes since when each Application could be deployed something that every earlier one has completed and no
// condition speaks against, where stepgate starts what is due. It goes by git, and by what ran and became Healthy.
func (w *world) watchDue() {
	for _, name := range w.names {
		m := w.members[name]
		if !w.isDue(m) {
			m.due = 0
		} else if m.due == 0 {
			m.due = w.now
		}
	}
	w.after(dueEvery, w.watchDue)
}

// startsDue is called when an operation of an Application is admitted.
func (w *world) startsDue(m *member) {
	if m.due == 0 {
		return
	}
	w.waited = append(w.waited, w.now-m.due)
	if w.now-m.due > bound {
		w.starts = append(w.starts, Start{Target: m.name, Condition: "train", Due: m.due, At: w.now})
	}
	m.due = 0
}

// overdue are the Applications that are due in the end, and have been for too long.
func (w *world) overdue() {
	for _, name := range w.names {
		m := w.members[name]
		if m.due > 0 && w.now-m.due > bound {
			w.starts = append(w.starts, Start{Target: m.name, Condition: "never", Due: m.due, At: w.now})
		}
	}
}

// isDue reports whether a newer revision than an Application runs could be deployed now, as far as Argo CD has compared
// it. Nobody wonders about one that is syncing, that has just come to its step, or for which there is no slot; nor
// while stepgate or the application controller cannot know.
func (w *world) isDue(m *member) bool {
	app := w.api.apps[m.name]
	if app == nil || m.generated < 2 || len(m.sources) != 1 || m.sources[0].dry != nil || w.invalidBefore(m) ||
		w.unusual || app.Operation != nil || app.DeletionTimestamp != nil || stepOf(app) != m.generated ||
		w.api.orphaned(app) || m.settled > w.now-sameMoment || w.now < m.windowUntil ||
		app.Status.Sync.Status != argo.SyncStatusCodeOutOfSync {
		return false
	}
	if most, taken, _ := w.slots(m); taken+w.given(m) >= most {
		return false
	}
	b := m.sources[0]
	newest, own := b.stateOf(app.Status.Sync.Revision, w.now), -1
	if len(app.Status.History) > 0 {
		own = b.stateOf(app.Status.History.LastRevisionHistory().Revision, w.now)
	}
	for n := newest; n > own && own >= 0; n-- {
		revision := b.states[n].revision
		what := deploying(w.contentOf(&app.Spec, []string{revision}), []string{revision})
		if what == m.truth.failed {
			return false // nobody goes back by himself
		}
		if hasRun(app, revision) || slices.Contains(m.truth.ended, what) {
			// The branch was set back to it, or somebody has rolled it back: nobody can tell, and offers nothing older.
			return n == newest && w.isPending(m.name) && w.mayDeploy(m, app, revision)
		}
		if w.mayDeploy(m, app, revision) {
			return true
		}
	}
	return false
}

// given counts the other Applications of a step to which the ApplicationSet controller has given a slot that they do not
// use yet: they may wait for a condition.
func (w *world) given(m *member) (n int) {
	for _, name := range w.names {
		e, app := w.members[name], w.api.apps[name]
		if e != m && e.family == m.family && e.generated == m.generated && app != nil && app.Operation == nil &&
			w.isPending(name) {
			n++
		}
	}
	return n
}

// invalidBefore reports whether an Application, or one of its step or of an earlier one, cannot be written.
func (w *world) invalidBefore(m *member) bool {
	return slices.ContainsFunc(w.names, func(name string) bool {
		e := w.members[name]
		return w.isInvalid(name) && e.family == m.family && e.generated <= m.generated
	})
}

// hasRun reports whether an Application has deployed a revision. One that was found Synced with it instead may have been
// compared with others only.
func hasRun(app *argo.Application, revision string) bool {
	return slices.ContainsFunc(app.Status.History, func(h argo.RevisionHistory) bool { return h.Revision == revision })
}

// mayDeploy reports whether every earlier Application has completed a revision, and no condition speaks against it. One
// that was Healthy with it only while it was being synced to something else has not, nor one of which Argo CD has nothing
// that shows it: see proof; nor one of which nothing was seen since the spec of m was written.
func (w *world) mayDeploy(m *member, app *argo.Application, revision string) bool {
	o := sought{m: m, step: m.generated, sources: app.Spec.GetSources(), revisions: []string{revision}}
	o.content = w.contentOf(&app.Spec, o.revisions)
	if o.content == m.live.content || len(w.unmet(&o)) > 0 {
		return false
	}
	before := w.before(m, m.generated)
	if w.waitsForOthers(m) {
		return false
	}
	wait, _ := w.conditions.soak(m.generated)
	for _, e := range before {
		since, ok := w.sinceOf(e, &o, e.proof.since)
		_, rested := w.sinceOf(e, &o, e.proof.rested)
		_, shown := w.sinceOf(e, &o, e.proof.shown)
		completed := w.api.apps[e.name]
		if wait > 0 && w.now < since+wait+max(0, w.skew(e.name)) {
			return false // its soak time is counted from a time that Argo CD writes by a clock that is ahead
		}
		if !ok || !rested || !shown || !hasRun(completed, revision) || since <= e.proof.broken || w.failed(e.name) ||
			isBroken(completed.Status.Health.Status) ||
			since < w.restarted && e.live.content.source != o.content.source || e.specified > since ||
			m.specified > e.written-specSettles && since < m.specified {
			return false
		}
	}
	return len(before) > 0
}
