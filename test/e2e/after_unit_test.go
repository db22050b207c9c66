// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/e2e/observer"
)

// TestStartsOutOfAChain has platform-a start at a commit when infra-a has deployed it, and infra-b does so or not.
func TestStartsOutOfAChain(t *testing.T) {
	done := func(name string) observer.Observation {
		return observer.Observation{
			Name: name, At: time.Unix(1, 0), Synced: true, Health: "Healthy", Phase: "Succeeded", Compared: observer.State{Revision: "new"},
			Operated: observer.State{Revision: "new"},
		}
	}
	changed := func(o observer.Observation, change func(*observer.Observation)) observer.Observation {
		change(&o)
		return o
	}
	starts := changed(done("platform-a"), func(o *observer.Observation) { o.OperationSet = true })
	for name, tc := range map[string]struct {
		other observer.Observation
		want  []string
	}{
		"it has deployed it": {done("infra-b"), nil},
		"it syncs": {changed(done("infra-b"), func(o *observer.Observation) { o.OperationSet = true }),
			[]string{"platform-a before infra-b"}},
		"it is Progressing": {changed(done("infra-b"), func(o *observer.Observation) { o.Health = "Progressing" }),
			[]string{"platform-a before infra-b"}},
		"it was compared with the commit before": {
			changed(done("infra-b"), func(o *observer.Observation) { o.Compared.Revision = "old" }),
			[]string{"platform-a before infra-b"}},
		"it has deployed the commit before": {
			changed(done("infra-b"), func(o *observer.Observation) { o.Operated.Revision = "old" }),
			[]string{"platform-a before infra-b"}},
	} {
		t.Run(name, func(t *testing.T) {
			g, played := NewWithT(t), chainPlayed{}
			played.judge([]observer.Observation{done("infra-a"), tc.other, starts, done("infra-b")}, "new")
			g.Expect(played.early).To(Equal(tc.want))
		})
	}
}
