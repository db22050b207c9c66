// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestStepsAreThoseOfTheNewestEvents plays events of Applications and ApplicationSets in any order. The kept inSteps
// are always those that would be found anew, and nothing that was handed out changes.
func TestStepsAreThoseOfTheNewestEvents(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := &familyWorld{
			Histories: NewHistories(clock.RealClock{}), apps: map[string]*argocd.Projection{}, sets: map[types.UID]*policy.ApplicationSet{},
		}
		r.Repeat(map[string]func(*rapid.T){
			"application": w.observe,
			"gone":        w.forget,
			"set":         w.keepSteps,
			"set gone":    w.forgetSteps,
			"handed out":  w.handOut,
			"":            w.check,
		})
	})
}

type familyWorld struct {
	*Histories
	apps map[string]*argocd.Projection
	sets map[types.UID]*policy.ApplicationSet
	held []held
	n    int
}

// held was handed out, and a copy of it was made then.
type held struct {
	siblings, copied []policy.Sibling
	seen             policy.History
	past             map[string]policy.Past
}

var (
	familyNames      = rapid.SampledFrom([]string{"a", "b", "c", "d"})
	familyNamespaces = rapid.SampledFrom([]string{"argocd", "team"})
	familyOwners     = rapid.SampledFrom([]types.UID{"u1", "u2", ""})
	familyEnvs       = rapid.SampledFrom([]string{"dev", "prod", "other"})
)

func (w *familyWorld) observe(r *rapid.T) {
	namespace, name := familyNamespaces.Draw(r, "namespace"), familyNames.Draw(r, "name")
	key := namespace + "/" + name
	uid := types.UID(key)
	if old := w.apps[key]; old != nil && rapid.Bool().Draw(r, "created again") {
		w.n++
		uid += types.UID("-" + strconv.Itoa(w.n))
		if rapid.Bool().Draw(r, "noticed late") {
			defer w.Forget(old)
		} else {
			w.Forget(old)
		}
	} else if old != nil {
		uid = old.UID
	}
	p := &argocd.Projection{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}, Owner: familyOwners.Draw(r, "owner"),
	}
	p.Application = policy.Application{
		Name: name, Labels: map[string]string{"env": familyEnvs.Draw(r, "env")}, RefreshRequested: rapid.Bool().Draw(r, "refresh"), SyncStatus: "Synced",
	}
	w.apps[key] = p
	w.Observe(p)
}

func (w *familyWorld) forget(r *rapid.T) {
	key := familyNamespaces.Draw(r, "namespace") + "/" + familyNames.Draw(r, "name")
	if p := w.apps[key]; p != nil {
		w.Forget(p)
		delete(w.apps, key)
	}
}

func (w *familyWorld) keepSteps(r *rapid.T) {
	set := familySet(r)
	w.sets[types.UID(set.UID)] = set
	w.KeepSteps(set)
}

func familySet(r *rapid.T) *policy.ApplicationSet {
	set := &policy.ApplicationSet{
		Namespace: "argocd", Name: "set", UID: string(rapid.SampledFrom([]types.UID{"u1", "u2"}).Draw(r, "set")), Recorded: map[string]policy.Recorded{},
	}
	for _, env := range rapid.SampledFrom([][]string{{"dev", "prod"}, {"prod", "dev"}, {"dev"}}).Draw(r, "steps") {
		set.Steps = append(set.Steps, policy.Step{{Key: "env", Operator: "In", Values: []string{env}}})
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if step := rapid.IntRange(-1, 3).Draw(r, "recorded"); step != 0 {
			set.Recorded[name] = policy.Recorded{Step: step}
		}
	}
	return set
}

func (w *familyWorld) forgetSteps(r *rapid.T) {
	if set := w.sets[rapid.SampledFrom([]types.UID{"u1", "u2"}).Draw(r, "set")]; set != nil {
		w.ForgetSteps(set)
		delete(w.sets, types.UID(set.UID))
	}
}

func (w *familyWorld) handOut(r *rapid.T) {
	set := w.sets[rapid.SampledFrom([]types.UID{"u1", "u2"}).Draw(r, "set")]
	if set == nil {
		set = familySet(r)
	}
	h := held{siblings: w.Siblings(set), seen: w.History(set, 0, 0), past: map[string]policy.Past{}}
	h.copied = slices.Clone(h.siblings)
	for _, name := range []string{"a", "b", "c", "d"} {
		h.past[name] = h.seen.Past(name)
	}
	w.held = append(w.held, h)
}

func (w *familyWorld) check(r *rapid.T) {
	g := NewWithT(r)
	for _, set := range w.sets {
		w.checkSteps(g, set)
		other := *set // as it was read live, and the watch has not seen it yet
		other.Steps, other.Recorded = slices.Clone(set.Steps), map[string]policy.Recorded{"a": {Step: 7}}
		slices.Reverse(other.Steps)
		w.checkSteps(g, &other)
	}
	for _, h := range w.held {
		g.Expect(h.siblings).To(Equal(h.copied), "what was handed out has changed")
		for name, past := range h.past {
			g.Expect(h.seen.Past(name)).To(Equal(past), "what was seen has changed")
		}
	}
}

// checkSteps compares with the steps that are found anew.
func (w *familyWorld) checkSteps(g *WithT, set *policy.ApplicationSet) {
	// One of the Applications has another object of its name, as it was read live.
	apps := []*argocd.Projection{
		{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Application: policy.Application{Name: "a", Labels: map[string]string{"env": "dev"}}},
	}
	found := []policy.Sibling{set.Sibling(&apps[0].Application)}
	seen := w.History(set, 0, 0)
	for _, p := range w.apps {
		if p.Namespace == set.Namespace && string(p.Owner) == set.UID {
			apps, found = append(apps, p), append(found, set.Sibling(&p.Application))
			past := seen.Past(p.Name)
			// See TestALabelThatWasWrittenBeforeIsNoWayRoundTheGate.
			past.Step, past.Relabelled = 0, false
			g.Expect(past).To(Equal(w.Histories.apps[p.UID].Past(0, 0)))
		}
	}
	g.Expect(w.Siblings(set)).To(ConsistOf(found[1:]))
	g.Expect(w.InSteps(set, apps)).To(Equal(found))
	kept := w.InSteps(set, apps[1:])
	g.Expect(kept).To(ConsistOf(found[1:]))
	if f := w.families[OwnerOf(set)]; len(kept) > 0 && f.set == set {
		g.Expect(&kept[0]).To(BeIdenticalTo(&w.Siblings(set)[0]), "what has not changed is not weighed again")
	}
}

// TestAnApplicationThatWasCreatedAgainIsAnother has the watch miss that an Application was deleted, as while it was not
// connected.
func TestAnApplicationThatWasCreatedAgainIsAnother(t *testing.T) {
	g := NewWithT(t)
	s := NewHistories(clock.RealClock{})
	watch := (&Cache{Histories: s, changed: func(types.NamespacedName) {}}).applications()
	before := &argocd.Projection{
		ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: "1"}, Owner: "set", Content: argocd.Content{Around: "a"},
	}
	before.Application = policy.Application{Name: "dev", SyncStatus: "Synced", SpecCompared: true}
	again := &argocd.Projection{
		ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: "2"}, Owner: "other", Content: argocd.Content{Around: "b"},
	}
	watch.OnAdd(before, false)
	watch.OnUpdate(before, again)
	g.Expect(s.Known("1")).To(BeFalse())
	g.Expect(s.Siblings(&policy.ApplicationSet{UID: "set"})).To(BeEmpty())
	g.Expect(s.Siblings(&policy.ApplicationSet{UID: "other"})).To(HaveLen(1))
}

// TestWhoIsCreatedAgainWasInTheRecordedStep creates prod again with the labels of the first step. A restart does not know
// what was created before it.
func TestWhoIsCreatedAgainWasInTheRecordedStep(t *testing.T) {
	g := NewWithT(t)
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	step := func(env string) policy.Step { return policy.Step{{Key: "env", Operator: "In", Values: []string{env}}} }
	set := &policy.ApplicationSet{
		UID: "set", Steps: []policy.Step{step("dev"), step("prod")}, Recorded: map[string]policy.Recorded{"prod": {Step: 2}},
	}
	prod := &argocd.Projection{ObjectMeta: metav1.ObjectMeta{Name: "prod", UID: "1"}, Owner: "set"}
	prod.Application = policy.Application{Name: "prod", Labels: map[string]string{"env": "dev"}}
	seen := func(observe func(s *Histories)) func() int {
		s := NewHistories(now)
		s.Observe(&argocd.Projection{ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: "2"}, Owner: "set"})
		s.KeepSteps(set)
		observe(s)
		return func() int {
			h := s.History(set, 0, 0)
			past := h.Past("prod")
			return past.Step
		}
	}
	watched, listed := seen(func(s *Histories) { s.Observe(prod) }), seen(func(s *Histories) { s.Listed(prod) })
	g.Expect([]int{watched(), listed()}).To(Equal([]int{2, 1}))
	now.Step(policy.SettlingTime)
	g.Expect([]int{watched(), listed()}).To(Equal([]int{1, 1}))
}
