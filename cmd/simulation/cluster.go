// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// content is what an Application deploys: the contents of its sources, and its parameters.
type content struct {
	source              [2]int
	values, destination string
	// parameter is the one that the Application alone has.
	parameter string
	// around is what is ignored of it, or its namespace's labels. It changes what a sync does, and the comparison, and
	// is part of no source.
	around string
}

// live is what the cluster has of an Application.
type live struct {
	exists  bool
	content content
	// instead is what a sync has deployed where somebody has put manifests of his own in its place; nil where nobody has.
	instead *content
	// drifted says that somebody has changed it by hand.
	drifted bool
	health  string
	// pending says that the sync that deployed it has not succeeded.
	pending bool
	// partly says that a sync of single resources has deployed all of it, and has left its hooks out.
	partly bool
	// settling counts what was deployed, so that an older rollout does not end in the health of a newer one.
	settling int
}

// contentOf is what a specification deploys at these revisions.
func (w *world) contentOf(spec *argo.ApplicationSpec, revisions []string) content {
	c := content{destination: spec.Destination.Namespace, around: aroundOf(spec)}
	sources := spec.GetSources()
	for i := range sources {
		s := &sources[i]
		if i == 0 && s.Helm != nil {
			c.values, c.parameter = s.Helm.Values, s.Helm.ReleaseName
		}
		if i < len(revisions) && i < len(c.source) {
			c.source[i] = w.trees[revisions[i]][s.Path]
		}
	}
	if h := spec.SourceHydrator; h != nil {
		c.values, c.parameter = h.DrySource.Helm.Values, "p0"
		if b := w.branches[h.SyncSource.TargetBranch]; len(revisions) > 0 && b.stateOf(revisions[0], w.now) >= 0 {
			c.values = b.states[b.stateOf(revisions[0], w.now)].values
		}
	}
	return c
}

// effectOf is the worst that the contents do.
func (w *world) effectOf(c content) effect {
	return max(w.contents[c.source[0]], w.contents[c.source[1]])
}

// apply deploys a content.
func (w *world) apply(m *member, c content) {
	if m.live.exists && m.live.content == c && !m.live.drifted {
		return // a sync that succeeded before has deployed it
	}
	was := m.live
	m.proof.applies(was, c)
	w.keepsBefore(m)
	m.live = live{exists: true, content: c, health: "Healthy", pending: true, settling: m.live.settling + 1}
	end, after := "Healthy", cmp.Or(w.scenario.Takes, 8*time.Second)
	switch w.effectOf(c) {
	case bad:
		end, after = "Degraded", cmp.Or(w.scenario.Takes, 3*time.Second)
	case slow:
	default:
		if was.health != "Healthy" {
			w.becameHealthy(m)
		}
		w.app.liveChanged(m.name)
		return
	}
	m.live.health = "Progressing"
	now := m.live.settling
	w.app.liveChanged(m.name)
	w.after(after, func() {
		if m.live.settling == now {
			w.become(m, end)
		}
	})
}

// keepsBefore makes the application controller go on with the state of now for a while, where a scenario says that it
// does.
func (w *world) keepsBefore(m *member) {
	if m.slowCluster == 0 || m.before != nil {
		return
	}
	before, wait := m.live, m.slowCluster
	m.before, m.slowCluster = &before, 0
	w.after(wait, func() {
		m.before = nil
		w.app.liveChanged(m.name)
	})
}

// cached is what the application controller's cache of the cluster has of an Application.
func (m *member) cached() *live { return cmp.Or(m.before, &m.live) }

// become changes the health of what is deployed.
func (w *world) become(m *member, health string) {
	if !m.live.exists || m.live.health == health {
		return
	}
	m.live.health = health
	w.logf("%s is %s", m.name, health)
	if health == "Healthy" {
		w.becameHealthy(m)
	}
	if health == "Degraded" {
		w.tell(Observation{Kind: Degraded, Application: m.name})
	}
	w.note(m)
	w.tellIfDone(m)
	w.app.liveChanged(m.name)
}

// install brings an Application into the world as one that has been rolled out long ago.
func (w *world) install(m *member) {
	at := w.stampAt(-time.Hour)
	compared := w.stampAt(-time.Hour)
	if w.scenario.Poll > 0 {
		compared = w.stampAt(-time.Duration(len(w.api.apps)+1) * 37 * time.Second % w.scenario.Poll)
	}
	if ago := w.setup(m.name).Compared; ago > 0 {
		compared = w.stampAt(-ago)
	}
	spec := w.spec(m)
	revisions := w.heads(m)
	m.live = live{exists: true, content: w.contentOf(&spec, revisions), health: "Healthy"}
	m.truth.synced = m.live.content
	w.asks(m, m.live.content, revisions)
	m.truth.ended = []string{deploying(m.live.content, revisions)}
	m.proof = longAgo()
	for _, revision := range revisions {
		m.resolvedAt[revision] = -time.Hour
	}
	app := w.newApplication(m.name, m.generated, spec)
	sources := spec.GetSources()
	app.Status = argo.ApplicationStatus{
		ReconciledAt: &compared,
		Health:       argo.AppHealthStatus{Status: "Healthy"},
		Resources:    w.resources(m, spec.Destination.Namespace, argo.SyncStatusCodeSynced, m.live.content),
		Sync: argo.SyncStatus{
			Status: argo.SyncStatusCodeSynced, ComparedTo: argo.ComparedTo{
				Destination: spec.Destination, IgnoreDifferences: spec.IgnoreDifferences,
			},
		},
	}
	entry := argo.RevisionHistory{DeployedAt: at}
	result := &argo.SyncOperationResult{}
	m.proof.revisions, m.proof.sources = revisions, sources
	if len(m.sources) > 1 {
		app.Status.Sync.Revisions, app.Status.Sync.ComparedTo.Sources = revisions, sources
		entry.Revisions, entry.Sources = revisions, sources
		result.Revisions, result.Sources = revisions, sources
	} else {
		app.Status.Sync.Revision, app.Status.Sync.ComparedTo.Source = revisions[0], sources[0]
		entry.Revision, entry.Source = revisions[0], sources[0]
		result.Revision, result.Source = revisions[0], sources[0]
	}
	if spec.SourceHydrator != nil {
		app.Status.SourceHydrator = w.hydratorStatus(m, spec.SourceHydrator)
	}
	app.Status.History = argo.RevisionHistories{entry}
	app.Status.OperationState = &argo.OperationState{
		Phase: "Succeeded", Operation: argo.Operation{Sync: syncOf(app, revisions).Sync}, StartedAt: at, FinishedAt: &at,
		SyncResult: result,
	}
	if !w.scenario.Unstamped {
		stamp(app)
	}
	w.api.write(app)
}

// heads are the revisions that the branches of an Application point to.
func (w *world) heads(m *member) []string {
	var revisions []string
	for _, b := range m.sources {
		revisions = append(revisions, b.states[b.head()].revision)
	}
	return revisions
}

// done reports whether what the generator and git want of an Application is deployed and Healthy.
func (w *world) done(m *member) bool {
	app := w.api.apps[m.name]
	if m.generated == 0 {
		return app == nil
	}
	spec := w.spec(m)
	return app != nil && m.live.exists && !m.live.pending && m.live.health == "Healthy" && stepOf(app) == m.generated &&
		m.live.content == w.contentOf(&spec, w.heads(m))
}
