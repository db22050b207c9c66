// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

// kargoPlays are promotions by Kargo, of Applications with one source and with two, started by Kargo itself and by a
// person, one stage after the other and all at once.
func kargoPlays() []gatedPlay {
	all := []gatedPlay{{
		scenario: scenario{
			key: "kargo-branch", title: "a commit; Kargo promotes prod, qa and dev at once, and changes no spec", play: kargoFollows,
		},
		gates: []mode{on, starting},
	}, {
		scenario: scenario{
			key: "kargo-parameter", title: "Kargo sets a parameter of a chart, and nothing else, one stage after the other",
			layout: fromChart, template: ofChart, set: ignoringParameters, play: kargoSets,
		},
		gates: []mode{on, starting}, ordered: true,
	}}
	for _, person := range []string{"", "alice"} {
		for _, several := range []bool{false, true} {
			all = append(all, kargoPlay{person: person}.plays(several)...)
		}
	}
	for i := range all {
		all[i].each, all[i].world, all[i].manual, all[i].limit = 1, true, true, 2*kargoWaits+2*time.Minute
		all[i].hangs = true
	}
	return all
}

// kargoPlay has Kargo set the targetRevision of Applications to a commit.
type kargoPlay struct{ person string }

// plays are in the turn of each Application, and before it. several says that each has two sources.
func (k kargoPlay) plays(several bool) []gatedPlay {
	s, who := scenario{key: "kargo"}, "Kargo promotes"
	ignored := argo.ApplicationSetResourceIgnoreDifferences{JSONPointers: []string{"/spec/source/targetRevision"}}
	if k.person != "" {
		who, s.key = "a person has Kargo promote", s.key+"-person"
	}
	if several {
		who, s.key = who+" Applications of two sources", s.key+"-sources"
		s.layout, s.template = secondSource, twoSources
		ignored = argo.ApplicationSetResourceIgnoreDifferences{JQPathExpressions: []string{".spec.sources[].targetRevision"}}
	}
	s.set = func(set *argo.ApplicationSet) {
		set.Spec.IgnoreApplicationDifferences = argo.ApplicationSetIgnoreDifferences{ignored}
	}
	inTurn, early := s, s
	inTurn.title, inTurn.quick, inTurn.play = who+" a commit, one stage after the other", s.key == "kargo", k.inTurn
	early.key, early.title, early.play = s.key+"-early", who+" a commit to qa and prod while dev is not Healthy", k.early
	return []gatedPlay{
		{scenario: inTurn, gates: []mode{on}, ordered: true}, {scenario: early, gates: []mode{on, starting}},
	}
}

// inTurn promotes to the next stage when the one before is done.
func (k kargoPlay) inTurn(r *rollout) {
	r.nameCommits()
	r.begin()
	r.version("2", r.members)
	for _, m := range r.members {
		r.succeed(r.promote(m, k.person, m.repoint))
	}
}

// early promotes to all stages while dev is Progressing with the commit.
func (k kargoPlay) early(r *rollout) {
	r.nameCommits()
	r.begin()
	dev := r.one("dev")
	r.version("2", r.members, dev)
	first := r.promote(dev, k.person, dev.repoint)
	r.untilEach(dev.name+" Progressing", []*member{dev}, func(m *member, app *argo.Application) bool {
		return progressing(m, app) && comparedWith(app) == m.newest()
	})
	var later []*promotion
	for _, m := range r.in("prod", "qa") {
		later = append(later, r.promote(m, k.person, m.repoint))
	}
	r.pause(standsStill)
	r.health(dev, "Healthy")
	r.succeed(append(later, first)...)
}

// kargoFollows promotes to all stages at once, the last one first. The Applications follow a branch.
func kargoFollows(r *rollout) {
	r.begin()
	r.version("2", r.members)
	var all []*promotion
	for _, m := range r.in(backwards()...) {
		all = append(all, r.promote(m, "", nil))
	}
	r.succeed(all...)
}

// kargoSets gives each stage the parameter when the one before has it. No revision changes, so that the ApplicationSet
// controller starts nothing (argo-cd 27949). Kargo asks a second time when Argo CD has compared the Application, and then
// not before five minutes: its spec must not wait for those that the ApplicationSet controller may be writing.
func kargoSets(r *rollout) {
	r.begin()
	for _, m := range r.members {
		r.succeed(r.promote(m, "", parametrize("mine")))
		if found := r.inCluster(m)[argocd.OwnParameter]; found != "mine" {
			script.Fail("%s has the parameter %q after its promotion", m.name, found)
		}
	}
}

// nameCommits has every Application name the commit that it runs, as after an earlier promotion.
func (r *rollout) nameCommits() {
	for _, m := range r.members {
		app := &unstructured.Unstructured{}
		app.SetGroupVersionKind(argo.ApplicationSchemaGroupVersionKind)
		script.Must(r.Admin.Get(r.ctx, r.key(m.name), app))
		before := app.DeepCopy()
		script.Must(m.repoint(app))
		script.Must(r.Admin.Patch(r.ctx, app, client.MergeFrom(before)))
	}
	r.untilEach("a comparison with a commit", r.members, func(m *member, app *argo.Application) bool {
		compared := app.Status.Sync.ComparedTo
		first := append(compared.Sources, compared.Source)[0]
		return m.atNewest(app) && first.TargetRevision == m.revision
	})
}
