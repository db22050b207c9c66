// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/test/scenario"
)

// TestWhoWaitsForASlot has b and c wait for the only slot of their step, which a has. A Releaser that starts again
// knows no less.
func TestWhoWaitsForASlot(t *testing.T) {
	ended := func(c *scenario.Cluster, comparedAfter time.Duration) {
		a := c.Apps[1]
		a.Operation, a.Status.Sync.Status = nil, "Synced"
		a.Status.OperationState = &argo.OperationState{
			Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}},
			FinishedAt: ptr.To(metav1.NewTime(scenario.Noon.Add(-time.Minute))),
		}
		a.Status.ReconciledAt = ptr.To(metav1.NewTime(scenario.Noon.Add(-time.Minute + comparedAfter)))
	}
	for name, tc := range map[string]struct {
		edit func(*scenario.Cluster)
		off  bool
		want []string
	}{
		"a syncs":                            {func(c *scenario.Cluster) { c.Apps[1].Operation = &argo.Operation{} }, false, nil},
		"a syncs, and nobody keeps it":       {func(c *scenario.Cluster) { c.Apps[1].Operation = &argo.Operation{} }, true, []string{"b", "c"}},
		"a is done":                          {func(c *scenario.Cluster) { ended(c, time.Second) }, false, []string{"b"}},
		"a was compared before it ended":     {func(c *scenario.Cluster) { ended(c, -time.Second) }, false, []string{"a"}},
		"a does not exist any more":          {func(c *scenario.Cluster) { c.Apps = append(c.Apps[:1], c.Apps[2:]...) }, false, []string{"b"}},
		"a syncs, and maxUpdate becomes two": {func(c *scenario.Cluster) { c.Apps[1].Operation = &argo.Operation{}; atMost(c, intstr.FromInt32(2)) }, false, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 3:a=Healthy@b 3:b=Healthy@b 3:c=Healthy@b")
			atMost(c, intstr.FromInt32(1))
			scenario.Pending(c, "b", "c")
			tc.edit(c)
			config := scenario.Releasing()
			config.MaxUpdate = !tc.off
			r := newReleasing(config, c)
			r.Reconcile(guestbook)
			r.clock.Step(3 * jitter)
			r.Reconcile(guestbook)
			var names []string
			for _, q := range r.refreshes.Take() {
				names = append(names, strings.TrimPrefix(strings.Fields(q)[0], "argocd/"))
			}
			g.Expect(names).To(Equal(tc.want))
		})
	}
}
