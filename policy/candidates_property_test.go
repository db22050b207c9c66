// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// TestCandidatesAreJudgedAsEachAlone compares what siblings are asked once for all of a group with what each is asked.
func TestCandidatesAreJudgedAsEachAlone(t *testing.T) {
	random, inputs, older := rand.New(rand.NewPCG(7, 8)), 20_000, 0
	if testing.Short() {
		inputs /= 4
	}
	for range inputs {
		in := trainFrom(&choices{left: randomBytes(random)})
		all := policy.Candidates(in)
		for _, c := range all[1:] {
			older++
			same(t, c.Decision, policy.Evaluate(policy.Deploying(in, c)))
		}
	}
	NewWithT(t).Expect(older).To(BeNumerically(">", inputs))
}

// trainFrom draws some siblings of step 1 that have completed much of the same, and are on their way to something else.
func trainFrom(c *choices) policy.Input {
	in := train()
	dev, done := *in.Siblings[0].Application, in.History.Past("dev").Completions
	past := map[string]policy.Past{}
	in.Siblings = nil
	for i := range 1 + c.upTo(5) {
		a, p := dev, policy.Past{Freshness: of(c, policy.Unknown, policy.Fresh, policy.Newest)}
		a.Name = "dev-" + strconv.Itoa(i)
		a.Health = of(c, "Healthy", "Healthy", "Progressing", "Degraded")
		a.OperationSet, a.Compared = c.rarely(2), of(c, dev.Compared, dev.Compared, done[c.upTo(6)].Sources)
		for _, one := range done {
			if !c.rarely(5) {
				one.Altered, one.By = c.rarely(4), of(c, "alice", "bob")
				one.Since = one.Since.Add(time.Duration(c.upTo(3)) * time.Minute)
				p.Completions = append(p.Completions, one)
			}
		}
		if c.rarely(4) {
			p.Completions = append(p.Completions, of(c, done...))
		}
		past[a.Name] = p
		in.Siblings = append(in.Siblings, in.ApplicationSet.Sibling(&a))
	}
	in.History.Of = func(name string) policy.Past { return past[name] }
	in.Target.Ran = of(c, in.Target.Ran, in.Target.Ran, dev.Ran[:1+c.upTo(3)])
	in.History.Altered, in.History.ContentSince = c.rarely(4), of(c, time.Time{}, done[2].Since)
	in.Settings.Conditions = c.conditions(of(c, done...).Sources)
	if c.rarely(2) {
		in.Settings.Conditions.Approve = policy.Steps{All: true}
	}
	return in
}

// BenchmarkCandidates is the dearest case: 20 older candidates of which none may start, for a condition that is asked
// last, and many siblings that are done with each.
func BenchmarkCandidates(b *testing.B) {
	in := longTrain(1000, 20)
	b.Run("candidates", func(b *testing.B) {
		for b.Loop() {
			if all := policy.Candidates(in); len(all) != 21 || all[1].Reason != policy.NotApproved {
				b.Fatalf("want 21 candidates that nobody has approved, got %d: %s", len(all), all[len(all)-1].Reason)
			}
		}
	})
	b.Run("key", func(b *testing.B) {
		for b.Loop() {
			policy.NewKeys(in.Siblings).Of(in)
		}
	})
}

// longTrain is train with siblings of step 1 that have all completed as many revisions, in objects of their own.
func longTrain(siblings, revisions int) policy.Input {
	in := train()
	start := in.Now.Add(-10 * time.Hour)
	past := map[string]policy.Past{}
	dev := *in.Siblings[0].Application
	in.Siblings = nil
	for i := range siblings {
		a, p := dev, policy.Past{}
		a.Name, a.Ran = "dev-"+strconv.Itoa(i), nil
		for r := range revisions + 1 {
			s := []policy.Source{{Key: "repo", Revision: strconv.Itoa(1_000_000 + r)}}
			p.Completions = append(p.Completions, policy.Completion{
				Sources: s, Since: start.Add(time.Duration(r)*time.Minute + time.Duration(i)*time.Second),
			})
			a.Ran = append(a.Ran, s...)
		}
		past[a.Name] = p
		in.Siblings = append(in.Siblings, in.ApplicationSet.Sibling(&a))
	}
	in.Target.Ran = in.Siblings[0].Ran[:1]
	in.History.Of = func(name string) policy.Past { return past[name] }
	in.Settings.Conditions.Approve.All = true
	return in
}
