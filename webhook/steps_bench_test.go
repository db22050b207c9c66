// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	"github.com/stepgate/stepgate/test/scenario"
)

// BenchmarkOrdinaryWrite is an allow of a step without a maxUpdate, from the bytes of the request to the answer.
func BenchmarkOrdinaryWrite(b *testing.B) {
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	trial := newTrial(scenario.Pinning(), c)
	a := scenario.SyncOf(c, "prod")
	a.After.Operation.Sync.Revision, a.After.Operation.Sync.Source = scenario.Commit("b"), a.After.Spec.Source
	request := a.Request()
	for b.Loop() {
		if !trial.handle(request).Allowed {
			b.Fatal("it was denied")
		}
	}
}
