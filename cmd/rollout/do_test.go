package rollout_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
)

// Every reason that can hold a sync up has its advice in docs/decisions.md.
func TestAdvice(t *testing.T) {
	holds := false
	for _, reason := range policy.Reasons() {
		holds = holds || reason == policy.Paused // the reasons after it hold a sync up
		if !holds {
			continue
		}
		t.Run(string(reason), func(t *testing.T) {
			g := NewWithT(t)
			a := rollout.AdviceOn(reason, rollout.Place{Application: "guestbook-dev", Namespace: "argocd", ApplicationSet: "guestbook", Step: 3})
			g.Expect(a.Means).NotTo(BeEmpty())
			g.Expect(a.Do).NotTo(BeEmpty())
			g.Expect(a.Means + a.Do).NotTo(Or(ContainSubstring("APP"), ContainSubstring("`"), ContainSubstring("](")))
		})
	}
}

func TestAdviceNamesTheApplication(t *testing.T) {
	NewWithT(t).Expect(rollout.Do(policy.SpecNotCompared, "guestbook-dev")).To(Equal(
		"wait a few seconds; Argo CD compares it again by itself. Or refresh it: argocd app get guestbook-dev --refresh."))
}
