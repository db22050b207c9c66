// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// of is the Outlook of the first ApplicationSet of a cluster, and how often it has weighed siblings.
func of(c *scenario.Cluster) (o *Outlook, weighed *int) {
	weighed = new(int)
	j := judge.New(scenario.Config(), judge.Dependencies{Histories: &scenario.Watch{}, Clock: scenario.AtNoon})
	return Weighing(func(in policy.Input, open policy.Decision) policy.Decision {
		*weighed++
		return policy.Weigh(in, open)
	}, j, argocd.NewApplicationSet(c.Sets[0]), scenario.Watched{Cluster: c}, nil), weighed
}

// twoSteps has qa and prod OutOfSync at a new commit, and three Applications in step 3 that are alike.
func twoSteps(dev string) *scenario.Cluster {
	c := scenario.Of("1:dev=" + dev + "@b 2:qa=Healthy@b 3:prod-a=Healthy@b 3:prod-b=Healthy@b 3:prod-c=Healthy@b")
	for _, app := range c.Apps[1:] {
		app.Status.Sync.Status = "OutOfSync"
	}
	return c
}

// TestToCome has the syncs that are to come, each with its own decision.
func TestToCome(t *testing.T) {
	g := NewWithT(t)
	o, weighed := of(twoSteps("Healthy"))
	decided := map[string]string{}
	for name, s := range o.ToCome() {
		decided[name] = fmt.Sprint(s.Outcome, " ", s.Reason)
		g.Expect(s.Input.Target.Name).To(Equal(name))
	}
	g.Expect(decided).To(Equal(map[string]string{
		"qa": "allow EarlierStepsDone", "prod-a": "deny NotCompleted", "prod-b": "deny NotCompleted", "prod-c": "deny NotCompleted",
	}))
	g.Expect(*weighed).To(Equal(2), "once for those that are alike")
	o.ToCome()
	g.Expect(*weighed).To(Equal(2), "and not again")
}

// TestAKnownBlockerSettlesIt without a look at the others, while it waits for more than a comparison.
func TestAKnownBlockerSettlesIt(t *testing.T) {
	for name, tc := range map[string]struct {
		dev     string
		weighed int
	}{
		"it still blocks":       {"Degraded", 0},
		"it blocks nobody (qa)": {"Healthy", 1},
		"it is not settled":     {"Progressing", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o, weighed := of(twoSteps(tc.dev))
			dev, qa := o.Applications[0], o.Applications[len(o.Applications)-1]
			g.Expect(dev.Name + " " + qa.Name).To(Equal("dev qa"))
			known := o.NextUnless(qa, dev)
			g.Expect(*weighed).To(Equal(tc.weighed))
			asked := o.Next(qa)
			g.Expect(known.Outcome).To(Equal(asked.Outcome))
			g.Expect(known.Reason).To(Equal(asked.Reason))
		})
	}
}

// TestUnmet are conditions, each as a denial of its own.
func TestUnmet(t *testing.T) {
	g := NewWithT(t)
	c := twoSteps("Healthy")
	c.Sets[0].Annotations = map[string]string{settings.PauseAnnotation: "all", settings.ApproveAnnotation: "all"}
	o, _ := of(c)
	s := o.ToCome()["qa"]
	g.Expect(s.Outcome).To(Equal(policy.Deny))
	var reasons []policy.Reason
	for _, d := range o.Unmet(s) {
		reasons = append(reasons, d.Reason)
	}
	g.Expect(reasons).To(ConsistOf(policy.NotApproved, policy.Paused))
}

// TestWithoutBypass forgets what was decided with one.
func TestWithoutBypass(t *testing.T) {
	g := NewWithT(t)
	c := twoSteps("Degraded")
	c.Sets[0].Annotations = map[string]string{
		settings.BypassAnnotation: scenario.Noon.Add(time.Hour).Format(time.RFC3339) + " INC-1",
	}
	o, _ := of(c)
	g.Expect(o.ToCome()["qa"].Reason).To(Equal(policy.Bypassed))
	g.Expect(o.WithoutBypass().ToCome()["qa"].Reason).To(Equal(policy.NotHealthy))
	g.Expect(o.ToCome()["qa"].Reason).To(Equal(policy.Bypassed), "the other one is as it was")
}
