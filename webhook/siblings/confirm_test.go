package siblings_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// TestASyncThatWasHadIsDeniedOnlyAfterTheProof has no blocker, known or live: that denial names none to confirm.
func TestASyncThatWasHadIsDeniedOnlyAfterTheProof(t *testing.T) {
	g := NewWithT(t)
	dev := &siblings.Projection{Owner: setUID, Application: projected()}
	dev.Name, dev.Namespace, dev.ResourceVersion, dev.Application.Name = "dev", "argocd", "1", "dev"
	live := &liveWorld{now: map[string]*siblings.Projection{"dev": dev}}
	in := input()
	in.Target.Operation.Automated = true
	in.Target.LastOperation = policy.LastOperation{Phase: "Succeeded", Full: true, StartedAt: at(51).Time}
	in.ApplicationSet.Recorded = map[string]policy.Recorded{in.Target.Name: {Step: 2, TransitionedAt: at(50).Time}}
	d, err := siblings.NewReader(live, frozen{"dev": dev}).Judge(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Outcome).To(Equal(policy.Deny))
	g.Expect(d.Reason).To(Equal(policy.AlreadySynced))
	g.Expect([]int{live.gets, live.lists}).To(Equal([]int{0, 1}), "GETs and LISTs")
}

// TestWhatWasReadToConfirmIsNotReadAgain has a blocker among what is known that is none any more. The GET that found so
// also tells what it is now, and the LIST proves that this is current.
func TestWhatWasReadToConfirmIsNotReadAgain(t *testing.T) {
	g := NewWithT(t)
	sibling := func(name, env, version, health string) *siblings.Projection {
		p := &siblings.Projection{Owner: setUID, Application: projected()}
		p.Name, p.Namespace, p.ResourceVersion = name, "argocd", version
		p.Application.Name, p.Application.Health = name, health
		p.Application.Labels = map[string]string{"env": env}
		return p
	}
	known := frozen{"dev": sibling("dev", "dev", "1", "Degraded"), "dev2": sibling("dev2", "dev", "2", "Healthy"), "prod": sibling("prod", "prod", "3", "Healthy")}
	live := &liveWorld{now: map[string]*siblings.Projection{"dev": sibling("dev", "dev", "4", "Healthy"), "dev2": known["dev2"], "prod": known["prod"]}}
	d, err := siblings.NewReader(live, known).Judge(t.Context(), input())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Outcome).To(Equal(policy.Allow), d.Message())
	g.Expect([]int{live.gets, live.lists}).To(Equal([]int{1, 1}), "GETs and LISTs")
}
