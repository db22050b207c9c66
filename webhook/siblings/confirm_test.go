package siblings_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/siblings"
)

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
