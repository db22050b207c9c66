// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// proof is since when an Application has what it has, to the moment.
type proof struct {
	// deployed is when a sync that succeeded had first deployed the content of now, and revised when it was the first
	// with these revisions and this specification.
	deployed, revised time.Duration
	// last is when the last sync succeeded.
	last      time.Duration
	revisions []string
	sources   argo.ApplicationSources
	// moved is the same of the destination, which Argo CD's history does not have.
	moved time.Duration
	// applied says that something else was applied since, and relocated that this was to another destination only.
	applied, relocated bool
	// healthy is when it last became Healthy, and recovered the same without a look at whether Argo CD has noticed that
	// it was not.
	healthy, recovered time.Duration
	// since is when each content had first been deployed and Healthy. One at which Argo CD has seen it not to be Healthy
	// is not among them.
	since map[content]time.Duration
	// first is the same, with those at which it was Progressing since.
	first map[content]time.Duration
	// rested is when each content was first deployed and Healthy while no operation was there: with one, which may have
	// applied a part of something else, nobody knows of what it is the health.
	rested map[content]time.Duration
	// shown is when Argo CD first wrote down a comparison that shows that it was Healthy with a content: see shows.
	shown map[content]time.Duration
	// broken is when it last failed, or Argo CD last saw it Degraded or Missing.
	broken time.Duration
	// byHand are the revisions that users have synced it to.
	byHand []byHand
}

type byHand struct {
	user      string
	revisions []string
	// gone says that something else was deployed since.
	gone bool
}

func longAgo() proof {
	return proof{
		deployed: -time.Hour, revised: -time.Hour, last: -time.Hour, moved: -time.Hour, healthy: -time.Hour,
		recovered: -time.Hour, broken: -time.Hour,
	}
}

// applies is called when something is deployed.
func (p *proof) applies(was live, c content) {
	here := *was.synced()
	here.destination, here.around = c.destination, c.around
	p.applied = p.applied || !was.exists || here != c
	p.relocated = p.relocated || was.content.destination != c.destination || was.content.around != c.around
}

// synced is what a sync from git has deployed.
func (l *live) synced() *content { return cmp.Or(l.instead, &l.content) }

// becameHealthy is called when the health of what is deployed has become Healthy. A time in which it was not counts
// only if Argo CD has noticed: nobody else can know of it.
func (w *world) becameHealthy(m *member) {
	m.proof.recovered = w.now
	if app := w.api.apps[m.name]; app == nil || app.Status.Health.Status != "Healthy" {
		m.proof.healthy = w.now
	}
}

// proves is called when an Application has something deployed and is Healthy.
func (w *world) proves(m *member) {
	if m.proof.since == nil {
		m.proof.since, m.proof.first = map[content]time.Duration{}, map[content]time.Duration{}
		m.proof.rested, m.proof.shown = map[content]time.Duration{}, map[content]time.Duration{}
	}
	if _, known := m.proof.since[m.live.content]; !known {
		m.proof.since[m.live.content] = max(m.proof.deployed, m.proof.healthy)
	}
	if _, known := m.proof.first[m.live.content]; !known {
		m.proof.first[m.live.content] = m.proof.since[m.live.content]
	}
	if _, known := m.proof.rested[m.live.content]; !known && !w.operates(m) {
		m.proof.rested[m.live.content] = w.now
	}
}

// operates reports whether an Application has an operation.
func (w *world) operates(m *member) bool {
	app := w.api.apps[m.name]
	return app != nil && app.Operation != nil
}

// noticed is called when Argo CD has written the health of an Application down, and what that was before.
func (w *world) noticed(m *member, health, before argoHealth) {
	if health != "Healthy" && !m.live.pending {
		delete(m.proof.since, m.live.content)
		delete(m.proof.rested, m.live.content)
		delete(m.proof.shown, m.live.content)
		if health != "Progressing" {
			delete(m.proof.first, m.live.content)
		}
	}
	if _, known := m.proof.shown[m.live.content]; !known && health == "Healthy" && w.shows(m) {
		m.proof.shown[m.live.content] = w.now
	}
	if isBroken(health) || isBroken(before) {
		m.proof.broken = w.now
	}
	if health != "Healthy" && m.live.health == "Healthy" {
		m.proof.healthy = m.proof.recovered
	}
}

// cacheLag is by how much the application controller's cache of a cluster may be behind, as far as stepgate goes.
const cacheLag = 5 * time.Second

// shows reports whether what Argo CD has just written down is of what the last sync of an Application has deployed: it
// was compared in a later second than that in which the sync ended; and where it was compared with something else, so
// much later that the controller has seen what was deployed.
func (w *world) shows(m *member) bool {
	app := w.api.apps[m.name]
	state := app.Status.OperationState
	if app.Operation != nil || state == nil || state.FinishedAt == nil || app.Status.ReconciledAt == nil ||
		m.proof.shown == nil {
		return false
	}
	after := app.Status.ReconciledAt.Sub(state.FinishedAt.Time)
	return after > cacheLag || after > 0 && app.Status.Sync.Status == argo.SyncStatusCodeSynced
}

// synced is called when a sync has succeeded.
func (w *world) synced(m *member, state *argo.OperationState) {
	r, p := state.SyncResult, &m.proof
	revisions, sources := r.Revisions, r.Sources
	if r.Revision != "" {
		revisions, sources = []string{r.Revision}, argo.ApplicationSources{r.Source}
	}
	p.last = w.now
	if p.applied {
		p.applied, p.deployed = false, w.now
	}
	if p.relocated {
		p.relocated, p.moved = false, w.now
	}
	if !slices.Equal(p.revisions, revisions) || !p.sources.Equals(sources) {
		p.revisions, p.sources, p.revised = revisions, sources, w.now
		for i := range p.byHand {
			p.byHand[i].gone = true
		}
	}
	if by := state.Operation.InitiatedBy; !by.Automated && by.Username != "" {
		p.byHand = append(p.byHand, byHand{user: by.Username, revisions: revisions})
	}
}

func isBroken(health argoHealth) bool { return health == "Degraded" || health == "Missing" }

// isUnhealthy reports whether it is not Healthy, and Argo CD has noticed.
func (w *world) isUnhealthy(m *member) bool {
	return m.live.health != "Healthy" && w.api.apps[m.name].Status.Health.Status != "Healthy"
}
