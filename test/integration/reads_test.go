// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
)

// reads are the live reads of the gate, by kind.
func (r *rollout) reads() map[string]float64 {
	r.t.Helper()
	reads := map[string]float64{}
	for _, kind := range []string{"applicationset_metadata_list", "applicationset_get", "application_get",
		"application_metadata_list"} {
		n, err := r.replica.Metric(r.ctx, "stepgate_live_reads_total", "kind", kind)
		r.Expect(err).NotTo(HaveOccurred())
		reads[kind] = n
	}
	return reads
}

func (r *rollout) readsOf(write func()) map[string]float64 {
	before := r.reads()
	write()
	after := r.reads()
	for kind := range after {
		after[kind] -= before[kind]
	}
	return after
}

func TestADecisionCostsTwoReads(t *testing.T) {
	r := newRollout(t)

	r.Expect(r.readsOf(func() {
		r.Expect(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)).NotTo(Succeed())
	})).To(Equal(map[string]float64{
		"applicationset_metadata_list": 0, "applicationset_get": 1, "application_get": 1, "application_metadata_list": 0,
	}), "a denial")

	r.done("dev")
	r.done("qa")
	// As soon as the watch has caught up, the LIST finds everything that is known to be current.
	r.Eventually(func() map[string]float64 {
		return r.readsOf(func() { r.Expect(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)).To(Succeed()) })
	}).Should(Equal(map[string]float64{
		"applicationset_metadata_list": 0, "applicationset_get": 1, "application_get": 0, "application_metadata_list": 1,
	}), "an allow")

	r.Expect(r.readsOf(func() {
		r.Expect(r.sync(cluster.ControllerAccount, "dev", client.DryRunAll)).To(Succeed())
	})).To(Equal(map[string]float64{
		"applicationset_metadata_list": 0, "applicationset_get": 1, "application_get": 0, "application_metadata_list": 0,
	}), "the first step")
}

// TestADecisionIsTrueAtOnce changes a sibling and asks in the same moment, over and over: most of the time the cache
// is then older than the live state.
func TestADecisionIsTrueAtOnce(t *testing.T) {
	r := newRollout(t)
	r.done("qa")
	for range 50 {
		r.done("dev")
		r.Expect(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)).To(Succeed())
		r.Expect(r.update(cluster.ControllerAccount, "dev", func(app *argo.Application) {
			guestbook.Compare(app, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeSynced, "Degraded")
		})).To(Succeed())
		r.Expect(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)).NotTo(Succeed())
	}
}
