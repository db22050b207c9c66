// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// TestEnds asks which comparison may end what holds a sync up: it is what stepgate asks Argo CD for.
func TestEnds(t *testing.T) {
	for scene, want := range map[string]policy.Comparison{
		"1:dev,op > 2:prod":                policy.NoComparison,
		"1:dev=Degraded > 2:prod":          policy.NoComparison,
		"1:dev=Healthy/Unknown > 2:prod":   policy.AnotherRevision,
		"1:dev=Healthy/OutOfSync > 2:prod": policy.AnotherRevision,
		"1:dev,failed:50 > 2:prod":         policy.AnotherRevision,
		"1:dev,respec > 2:prod":            policy.CompareAgain,
		"1:dev > 2:prod@b":                 policy.CompareAgain,
		"1:dev,ended:101 > 2:prod":         policy.CompareSettled,
	} {
		t.Run(scene, func(t *testing.T) {
			d := policy.Evaluate(scenario(scene))
			g := NewWithT(t)
			g.Expect(d.Blockers).To(HaveLen(1))
			g.Expect(d.Blockers[0].Ends).To(Equal(want))
		})
	}
}
