// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

// chartRange is the targetRevision of Applications that deploy a chart.
const chartRange = "1.*"

// elsewhere are the scenarios in which Applications do not follow one branch of one repository to one destination.
func elsewhere() []scenario {
	return []scenario{
		{
			key: "sources-own", title: "two sources, one of them shared; a commit to the sources of each environment, prod first", each: 1, world: true,
			layout: secondSource, template: twoSources, play: commitRefreshedIn(backwards()),
		},
		{
			key: "sources-shared", title: "two sources, one of them shared; a commit to the shared one, prod refreshed first", each: 1, world: true,
			layout: secondSource, template: twoSources, play: commitToShared,
		},
		{
			key: "branches", title: "a branch per environment, pushed and refreshed in the order prod, qa, dev", each: 1, world: true,
			layout: func(r *rollout) { r.eachSource(func(m *member) { m.branch = "environment-" + m.env }) }, play: commitRefreshedIn(backwards()),
		},
		{
			key: "tags", title: "a tag per environment, moved and refreshed in the order prod, qa, dev", each: 1, world: true,
			layout: func(r *rollout) { r.eachSource(func(m *member) { m.tag = "environment-" + m.env }) }, play: commitRefreshedIn(backwards()),
		},
		{
			key: "chart", title: "a Helm chart by version range, a new version; prod refreshed first", each: 1, world: true, quick: true,
			layout: fromChart, template: ofChart, play: commitRefreshedIn(backwards()),
		},
		{
			key: "destination", title: "a change of the destination, and then a commit; prod refreshed first", each: 1, waits: settling, world: true,
			layout: secondNamespace, template: pruneInBackground, play: newDestination,
		},
		{
			key: "destination-by-hand", title: "a change of the destination, synced with the argocd CLI, before its turn and in its turn", each: 1, waits: settling, world: true,
			layout: secondNamespace, template: pruneInBackground, manual: true, play: newDestinationByHand,
		},
	}
}

func (r *rollout) eachSource(change func(*member)) {
	for _, m := range r.members {
		change(m)
	}
}

// secondSource gives every member a repository of its own, and a path of one that all share.
func secondSource(r *rollout) {
	shared := r.repository("shared")
	for _, m := range r.members {
		m.repo = r.repository(m.name)
		m.second = &source{repo: shared, path: m.name + "/shared", branch: argocd.Main}
	}
	r.commitTo(branch{shared, argocd.Main}, r.sharedFiles("1"))
}

// sharedFiles are the manifests of the second sources.
func (r *rollout) sharedFiles(version string) files {
	all := files{}
	for _, m := range r.members {
		second := &member{name: m.name + "-shared", source: source{path: m.second.path}, version: version}
		maps.Copy(all, second.file("Healthy"))
	}
	return all
}

func twoSources(_ *rollout, spec *argo.ApplicationSpec) {
	spec.Sources = argo.ApplicationSources{
		*spec.Source, {RepoURL: "{{.secondURL}}", Path: "{{.secondPath}}", TargetRevision: argocd.Main},
	}
	spec.Source = nil
}

func commitToShared(r *rollout) {
	r.begin()
	r.commit(r.members[0].second.repo, r.sharedFiles("2"))
	r.refresh(r.in(backwards()...)...)
}

func fromChart(r *rollout) {
	charts := script.Get(r.argo.NewChartRepository())
	for _, m := range r.members {
		m.source = source{charts: charts}
	}
}

func ofChart(_ *rollout, spec *argo.ApplicationSpec) {
	spec.Source.Path, spec.Source.Chart = "", argocd.ChartName
}

// secondNamespace is where the scenarios that change the destination go.
func secondNamespace(r *rollout) { script.Must(r.CreateNamespace(r.ctx, r.secondNamespace())) }

func (r *rollout) secondNamespace() string { return r.mode.destination() + "-" + r.name }

// pruneInBackground is for the object that stays behind at the old destination. The ApplicationSet controller takes
// from "automated" whether to prune, and switches the rest of it off. A foreground deletion would need the garbage
// collector of kube-controller-manager, which does not run here.
func pruneInBackground(_ *rollout, spec *argo.ApplicationSpec) {
	prune := true
	spec.SyncPolicy = &argo.SyncPolicy{
		Automated: &argo.SyncPolicyAutomated{Prune: &prune}, SyncOptions: argo.SyncOptions{"PrunePropagationPolicy=background"},
	}
}

// redirect changes the destination of all members, and waits until every Application has been compared with it.
func (r *rollout) redirect() {
	for _, m := range r.members {
		m.destination = r.secondNamespace()
	}
	r.changed()
	r.edit(nil)
	r.untilEach("the new destination compared", r.members, func(m *member, app *argo.Application) bool {
		return app.Status.Sync.ComparedTo.Destination.Namespace == m.destination && app.Operation == nil
	})
}

func newDestination(r *rollout) {
	r.begin()
	r.redirect()
	r.quiet()
	r.version("2", r.members)
	r.refresh(r.in(backwards()...)...)
}

// newDestinationByHand syncs with the CLI: from 3.3 on the ApplicationSet controller does not start the change.
func newDestinationByHand(r *rollout) {
	r.byUsersOnly()
	r.begin()
	r.redirect()
	if !r.argo.Traits.SyncsDrift {
		r.quiet()
	}
	r.tooEarly(r.one("prod"))
	for _, env := range environments {
		m := r.one(env)
		r.sync(m)
		r.untilNewest(m)
	}
}
