// SPDX-License-Identifier: Apache-2.0

package judge_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
)

// TestTheCacheOnlyMakesStricter is the invariant of LiveEvaluator: whatever it knows, and however old that is, it
// decides as a reader that reads every sibling whole. In each history Applications are created, changed, relabelled,
// re-owned, deleted and recreated; then what is known of each is frozen at a moment of its own, and both decide on what
// is live.
func TestTheCacheOnlyMakesStricter(t *testing.T) {
	g := NewWithT(t)
	random, histories := rand.New(rand.NewPCG(20261121, 1)), 100_000
	if testing.Short() {
		histories /= 10
	}
	seen := map[string]int{}
	for range histories {
		w := newWorld(random)
		for range random.IntN(25) {
			w.change()
		}
		in := w.input()
		live := &liveWorld{now: w.now}
		got, err := decide(context.Background(), evaluator(live, frozen(w.lag())), in)
		g.Expect(err).NotTo(HaveOccurred())
		in.Siblings = w.owned(in.ApplicationSet)
		want := policy.Evaluate(in)
		seen[got.Outcome.String()]++
		seen[string(got.Reason)]++
		if got.Outcome != want.Outcome {
			t.Fatalf("decided %s (%s), and by reading everything %s (%s)\n%s", got.Outcome, got.Reason, want.Outcome,
				want.Reason, w)
		}
		if live.selected {
			seen["with a selector"]++
		}
		if got.Outcome != policy.Deny {
			g.Expect(got).To(Equal(want))
			continue
		}
		// One of the blockers was read live, and it is one of those that are live.
		g.Expect(contains(want.Blockers, got.Blockers)).To(BeTrue(), "%v, live %v", got.Blockers, want.Blockers)
		if live.lists == 0 {
			seen["denied by one GET"]++
			g.Expect(live.gets).To(Equal(1))
		}
	}
	t.Logf("%d histories, 0 differences: %v", histories, seen)
	for _, kind := range []string{"allow", "deny", "denied by one GET", "with a selector"} {
		g.Expect(seen[kind]).To(BeNumerically(">", histories/50), kind)
	}
	for _, reason := range []policy.Reason{policy.Soaking, policy.TooManyFailures} {
		g.Expect(seen[string(reason)]).To(BeNumerically(">", histories/500), string(reason))
	}
}

// TestEveryReadThatFailsIsNoDecision fails the k-th read, for every k.
func TestEveryReadThatFailsIsNoDecision(t *testing.T) {
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(20261121, 2))
	failed := 0
	for range 2000 {
		w := newWorld(random)
		for range random.IntN(25) {
			w.change()
		}
		known := w.lag()
		for k := 1; ; k++ {
			live := &liveWorld{now: w.now, failAt: k}
			d, err := decide(context.Background(), evaluator(live, frozen(known)), w.input())
			if !live.failed {
				break
			}
			failed++
			g.Expect(err).To(HaveOccurred())
			g.Expect(d.Outcome).NotTo(Equal(policy.Allow))
		}
	}
	g.Expect(failed).To(BeNumerically(">", 2000))
}

func contains(all, some []policy.Blocker) bool {
	for _, s := range some {
		for _, a := range all {
			if a == s {
				return true
			}
		}
	}
	return false
}

// world is a namespace with its history. resourceVersions only ever go up.
type world struct {
	random  *rand.Rand
	set     policy.ApplicationSet
	target  string
	now     map[string]*argocd.Projection
	past    map[string][]*argocd.Projection // nil entries are times at which it did not exist
	version int
}

func newWorld(random *rand.Rand) *world {
	w := &world{
		random: random, target: "a0", now: map[string]*argocd.Projection{}, past: map[string][]*argocd.Projection{},
	}
	w.set = policy.ApplicationSet{Namespace: "argocd", Name: "set", UID: "u1", RollingSync: true}
	for i := range 4 {
		w.set.Steps = append(w.set.Steps, w.step(i+1))
	}
	w.version++
	w.put(w.target, &argocd.Projection{Owner: "u1", Application: w.status(done(w.target, map[string]string{"step": "4"}))})
	for i := range 1 + random.IntN(6) {
		w.create("a" + strconv.Itoa(i+1))
	}
	w.set.Recorded = map[string]policy.Recorded{}
	for range random.IntN(3) {
		w.set.Recorded[w.name()] = policy.Recorded{Step: random.IntN(6) - 1}
	}
	return w
}

// step is mostly one that a selector can express, and sometimes not.
func (w *world) step(number int) policy.Step {
	value := strconv.Itoa(number)
	in := policy.Expression{Key: "step", Operator: "In", Values: []string{value}}
	switch w.random.IntN(20) {
	case 0:
		return policy.Step{in, {Key: "zone", Operator: "NotIn", Values: []string{"x"}}}
	case 1:
		return policy.Step{{Key: "zone", Operator: "Exists"}, in}
	case 2:
		return policy.Step{{Key: "zone", Operator: "In", Values: []string{"x", "y"}}}
	case 3:
		return policy.Step{{Key: "step", Operator: "NotIn", Values: []string{"2", "3", "4", "0"}}}
	case 4:
		return policy.Step{{Key: "step", Operator: "In"}}
	case 5:
		return policy.Step{{Key: "step", Operator: "In", Values: []string{value, "not a label value"}}}
	}
	return policy.Step{in}
}

func (w *world) name() string { return "a" + strconv.Itoa(1+w.random.IntN(7)) }

func (w *world) create(name string) {
	w.version++
	w.put(name, &argocd.Projection{Owner: w.owner(), Application: w.status(done(name, w.labels()))})
	w.now[name].UID = types.UID("uid-" + strconv.Itoa(w.version))
}

func (w *world) put(name string, p *argocd.Projection) {
	p.Name, p.Namespace, p.ResourceVersion = name, w.set.Namespace, strconv.Itoa(w.version)
	w.now[name] = p
	w.past[name] = append(w.past[name], p)
}

func (w *world) owner() types.UID {
	return types.UID([]string{"u1", "u1", "u1", "u1", "u1", "u2", ""}[w.random.IntN(7)])
}

func (w *world) labels() map[string]string {
	l := map[string]string{}
	if w.random.IntN(10) > 0 {
		l["step"] = strconv.Itoa(w.random.IntN(5))
	}
	if w.random.IntN(4) == 0 {
		l["zone"] = []string{"x", "y", "z"}[w.random.IntN(3)]
	}
	return l
}

func done(name string, labels map[string]string) policy.Application {
	return policy.Application{
		Name: name, Labels: labels, Health: "Healthy", SyncStatus: "Synced", SpecCompared: true, ReconciledAt: time.Unix(1000, 0),
		Compared: []policy.Source{{Key: "repo", Revision: "b"}},
	}
}

// status is mostly done.
func (w *world) status(a policy.Application) policy.Application {
	a.HealthSince = time.Unix(int64(900+w.random.IntN(200)), 0)
	switch w.random.IntN(18) {
	case 16:
		a.LastFull = policy.FullSync{Phase: "Failed", AtCompared: true, FinishedAt: time.Unix(500, 0)}
	case 17:
		a.Health, a.LastSync.AtCompared = "Degraded", true
	case 0:
		a.Health = "Degraded"
	case 1:
		a.SyncStatus = "OutOfSync"
	case 2:
		a.Compared = []policy.Source{{Key: "repo", Revision: "a"}}
	case 3:
		a.OperationSet = true
	case 4:
		a.Deleting = true
	}
	return a
}

// change writes one Application.
func (w *world) change() {
	name := w.name()
	was := w.now[name]
	if was == nil {
		w.create(name)
		return
	}
	w.version++
	next := *was
	switch w.random.IntN(8) {
	case 0: // deleted
		delete(w.now, name)
		w.past[name] = append(w.past[name], nil)
		return
	case 1: // deleted and recreated under the same name
		w.create(name)
		return
	case 2: // relabelled
		next.Application.Labels = w.labels()
	case 3: // re-owned
		next.Owner = w.owner()
	default:
		next.Application = w.status(done(name, was.Application.Labels))
	}
	w.put(name, &next)
}

// lag is what is known: of each Application some moment of its past.
func (w *world) lag() map[string]*argocd.Projection {
	known := map[string]*argocd.Projection{}
	for name, past := range w.past {
		at := w.random.IntN(len(past) + 1)
		if w.random.IntN(3) > 0 {
			at = len(past) // mostly the newest
		}
		if at > 0 && past[at-1] != nil {
			known[name] = past[at-1]
		}
	}
	return known
}

func (w *world) conditions() (c policy.Conditions) {
	if w.random.IntN(4) == 0 {
		c.Soak.Every = time.Minute
	}
	if w.random.IntN(4) == 0 {
		c.MaxFailures = &policy.Budget{Most: w.random.IntN(2)}
	}
	return c
}

func (w *world) input() policy.Input {
	return policy.Input{
		Now: time.Unix(1100, 0), Settings: policy.Settings{Conditions: w.conditions()},
		Target: policy.Target{
			Name: w.target, Labels: w.now[w.target].Application.Labels, Compared: w.now[w.target].Application.Compared,
			ReconciledAt: w.now[w.target].Application.ReconciledAt, Managed: true,
			SpecCompared: true, Operation: policy.Operation{Written: true, Pinned: w.random.IntN(4) > 0}, Wanted: []policy.Source{{Key: "repo", Revision: "b"}},
		},
		ApplicationSet: &w.set,
	}
}

func (w *world) owned(set *policy.ApplicationSet) []policy.Sibling {
	var all []policy.Sibling
	for _, p := range w.now {
		if p.Owner == "u1" {
			all = append(all, set.Sibling(&p.Application))
		}
	}
	return all
}

// String tells the whole world, for a failure.
func (w *world) String() string {
	text := fmt.Sprintf("set: %+v\n", w.set)
	for name, past := range w.past {
		for _, p := range past {
			text += fmt.Sprintf("%s: %+v\n", name, p)
		}
	}
	return text
}

// frozen is what is known, and never changes.
type frozen map[string]*argocd.Projection

// Owned returns those of an owner.
func (f frozen) Owned(owner types.UID) []*argocd.Projection {
	var known []*argocd.Projection
	for _, p := range f {
		if p.Owner == owner {
			known = append(known, p)
		}
	}
	return known
}

// Siblings returns the Applications of an ApplicationSet, in its own namespace only.
func (f frozen) Siblings(set *policy.ApplicationSet) []policy.Sibling {
	var known []policy.Sibling
	for _, p := range f.Owned(types.UID(set.UID)) {
		if p.Namespace == set.Namespace {
			known = append(known, set.Sibling(&p.Application))
		}
	}
	return known
}

// Lent is not asked without a parent.
func (f frozen) Lent(*argocd.ApplicationSet, []*argocd.Projection) []*argocd.Projection { return nil }

// InSteps is not asked without a barrier.
func (f frozen) InSteps(*policy.ApplicationSet, []*argocd.Projection) []policy.Sibling { return nil }

// Set is not asked by Evaluate.
func (f frozen) Set(types.NamespacedName) (*argocd.ApplicationSet, cluster.Version) {
	return nil, cluster.Version{}
}
