// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// TestNoRolloutHasMoreStepsThanAreRead: who gives each child a wave of its own keeps the log of the others.
func TestNoRolloutHasMoreStepsThanAreRead(t *testing.T) {
	g := NewWithT(t)
	r := &ledger.Rollout{}
	for wave := range ledger.MostSteps + 10 {
		g.Expect((&next{}).step(r, policy.WaveStep(wave)).Step).To(Equal(policy.WaveStep(wave) + 1))
	}
	g.Expect(r.Steps).To(HaveLen(ledger.MostSteps))
	(&next{}).step(r, policy.WaveStep(3)).Done = 7
	g.Expect(r.Steps[3].Done).To(Equal(7))
}
