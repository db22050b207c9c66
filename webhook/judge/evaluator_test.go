// SPDX-License-Identifier: Apache-2.0

package judge_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

// TestASyncIsDeniedForItselfOnlyAfterTheProof has no blocker, known or live: that denial names none to confirm.
func TestASyncIsDeniedForItselfOnlyAfterTheProof(t *testing.T) {
	g := NewWithT(t)
	dev := &argocd.Projection{Owner: "u1", Application: done("dev", map[string]string{"env": "dev"})}
	dev.Name, dev.Namespace, dev.ResourceVersion, dev.Application.Name = "dev", "argocd", "1", "dev"
	live := &liveWorld{now: map[string]*argocd.Projection{"dev": dev}}
	in := syncOfProd()
	in.Now = time.Unix(60, 0)
	in.History.Joined = in.Now
	d, err := decide(t.Context(), evaluator(live, frozen{"dev": dev}), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Outcome).To(Equal(policy.Deny))
	g.Expect(d.Reason).To(Equal(policy.NotGenerated))
	g.Expect([]int{live.gets, live.lists}).To(Equal([]int{0, 1}), "GETs and LISTs")
}

// TestWhatWasReadToConfirmIsNotReadAgain has a blocker among what is known that is none any more. The GET that found so
// also tells what it is now, and the LIST proves that this is current.
func TestWhatWasReadToConfirmIsNotReadAgain(t *testing.T) {
	g := NewWithT(t)
	sibling := func(name, env, version, health string) *argocd.Projection {
		p := &argocd.Projection{Owner: "u1", Application: done("dev", map[string]string{"env": "dev"})}
		p.Name, p.Namespace, p.ResourceVersion = name, "argocd", version
		p.Application.Name, p.Application.Health = name, health
		p.Application.Labels = map[string]string{"env": env}
		return p
	}
	known := frozen{
		"dev": sibling("dev", "dev", "1", "Degraded"), "dev2": sibling("dev2", "dev", "2", "Healthy"), "prod": sibling("prod", "prod", "3", "Healthy"),
	}
	live := &liveWorld{
		now: map[string]*argocd.Projection{"dev": sibling("dev", "dev", "4", "Healthy"), "dev2": known["dev2"], "prod": known["prod"]},
	}
	d, err := decide(t.Context(), evaluator(live, known), syncOfProd())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Outcome).To(Equal(policy.Allow), d.Message())
	g.Expect([]int{live.gets, live.lists}).To(Equal([]int{1, 1}), "GETs and LISTs")
}

// decide goes the way of a judgment: what the ApplicationSet settles needs no siblings.
func decide(ctx context.Context, e *judge.LiveEvaluator, in policy.Input) (policy.Decision, error) {
	open, settled := policy.Scope(in)
	if settled {
		return open, nil
	}
	return e.Evaluate(ctx, in, open)
}

// syncOfProd is a sync of prod, in the second of two steps: env dev, then env prod.
func syncOfProd() policy.Input {
	step := func(env string) policy.Step {
		return policy.Step{{Key: "env", Operator: "In", Values: []string{env}}}
	}
	return policy.Input{
		ApplicationSet: &policy.ApplicationSet{
			Namespace: "argocd", Name: "guestbook", UID: "u1", RollingSync: true, Steps: []policy.Step{step("dev"), step("prod")},
		},
		Target: policy.Target{
			Name: "prod", Labels: map[string]string{"env": "prod"}, Managed: true, SpecCompared: true, Operation: policy.Operation{Written: true},
			Wanted: []policy.Source{{Key: "repo", Revision: "b"}}, Compared: []policy.Source{{Key: "repo", Revision: "b"}},
		},
	}
}
