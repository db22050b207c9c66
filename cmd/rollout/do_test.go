// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
)

// TestAdvice wants a meaning in every row, and something to do in each that can hold a sync up.
func TestAdvice(t *testing.T) {
	writes, _ := policy.WriteRows()
	for _, row := range append(writes, policy.SiblingRows()...) {
		t.Run(string(row.Reason), func(t *testing.T) {
			g := NewWithT(t)
			a := rollout.AdviceOn(row.Reason, rollout.Subject{
				Application: "guestbook-dev", Namespace: "argocd", ApplicationSet: "guestbook", Step: 3,
			})
			g.Expect(a.Means).NotTo(BeEmpty())
			g.Expect(a.Do != "").To(Equal(row.Outcome == policy.Deny), a.Do)
			g.Expect(a.Means + a.Do).NotTo(Or(ContainSubstring("APP"), ContainSubstring("`"), ContainSubstring("](")))
		})
	}
}

func TestAdviceNamesTheApplication(t *testing.T) {
	NewWithT(t).Expect(rollout.Do(policy.OperationInProgress, "guestbook-dev")).To(Equal(
		"wait, or end it with argocd app terminate-op guestbook-dev."))
}
