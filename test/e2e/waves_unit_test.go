// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
)

// Families of a round are in the same namespaces, and the recorder knows an Application by its name in all rounds.
func TestWaveFamilies(t *testing.T) {
	g := NewWithT(t)
	names, keys := map[string]bool{}, map[string]bool{}
	for _, round := range wavesRounds() {
		for _, f := range round.families {
			for i := range f.children {
				c := &f.children[i]
				g.Expect(names).NotTo(HaveKey(c.name))
				names[c.name] = true
				g.Expect(i == 0 || f.children[i-1].wave <= c.wave).To(BeTrue(), c.name)
				app := &argo.Application{}
				g.Expect(yaml.UnmarshalStrict([]byte(f.manifest(off, c, "file:///there")), app)).To(Succeed())
				g.Expect(app.Spec.Source.Path).To(Equal(c.path()))
				g.Expect(app.Spec.SyncPolicy.IsAutomatedSyncEnabled()).To(Equal(!f.byHand))
				set := &argo.ApplicationSet{}
				g.Expect(yaml.UnmarshalStrict([]byte(f.setManifest(off, []*child{c}, "file:///there")), set)).To(Succeed())
			}
			for _, p := range f.plays {
				g.Expect(keys).NotTo(HaveKey(p.key))
				keys[p.key] = true
				g.Expect(chosenWaves(p.key)).NotTo(BeEmpty())
			}
		}
	}
	g.Expect(chosenWaves("nothing")).To(BeEmpty())
	g.Expect(chosenWaves("sixty")).To(HaveLen(1))
}

// A commit to one of two repositories, and one that only changes the chart.
func TestTouchedChildren(t *testing.T) {
	g := NewWithT(t)
	p := &wavesPlayed{waveFamily: waveFamily{parent: "p", children: []child{
		{name: "a", chart: true}, {name: "b"}, {name: "c", repo: "other"},
	}}, repos: map[string]*argocd.Repository{}, heads: map[string]string{}, staged: map[string]files{}}
	for _, name := range []string{"", "other"} {
		repo, err := argocd.NewRepositoryIn(t.TempDir())
		g.Expect(err).NotTo(HaveOccurred())
		p.repos[name] = repo
	}
	touched := func(since int) (names string) {
		for _, c := range p.touched(since) {
			names += c.name
		}
		return names
	}
	p.stage("", chartFiles("1"))
	p.stageVersion(p.inGit())
	p.commit()
	g.Expect(touched(0)).To(Equal("abc"))
	p.stage("", chartFiles("2"))
	p.commit()
	g.Expect(touched(1)).To(Equal("a"))
	p.stageVersion([]*child{p.one("c")})
	p.commit()
	g.Expect(touched(2)).To(Equal("c"))
	g.Expect(touched(1)).To(Equal("ac"))
	g.Expect(p.one("b").changes[2]).To(Equal(p.one("b").changes[1]))
	p.stageRemoval(p.one("a"))
	p.commit()
	g.Expect(touched(0)).To(Equal("bc"))
	g.Expect(touched(3)).To(BeEmpty())
}

// A child that somebody has deleted is not done: git has it.
func TestADeletedChildIsNotDone(t *testing.T) {
	g := NewWithT(t)
	one, two := observer.State{Revision: "1"}, observer.State{Revision: "2"}
	plan := observer.Rollout{ChangedAt: []time.Time{time.Unix(1, 0), time.Unix(2, 0)}}
	for step, name := range []string{"first", "second"} {
		plan.Applications = append(plan.Applications, observer.Application{
			Name: name, Step: step, Changes: []observer.State{one, two}, Trees: []string{"1", "2"},
		})
	}
	all := []observer.Observation{
		{Name: "first", Synced: true, Compared: one, Operated: one, Phase: "Succeeded", Health: "Healthy"},
		{Name: "first", Gone: true},
		{Name: "second", Compared: two, OperationSet: true},
	}
	for i := range all {
		all[i].ResourceVersion, all[i].At = uint64(i+1), time.Unix(int64(10+i), 0)
	}
	early := func(seen []observer.Observation) string {
		return fmt.Sprint(observer.Judge(plan, seen)[0].Behind)
	}
	g.Expect(early(existing(append([]observer.Observation(nil), all...)))).To(Equal("[first]"))
	g.Expect(early(all)).To(Equal("[]"))
}
