// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	live "github.com/stepgate/stepgate/webhook/cluster"
)

// TestADecisionIsTrueAtOnceWithTheWriteBarrier is TestADecisionIsTrueAtOnce with a barrier in place of every LIST,
// under the rights of config/.
func TestADecisionIsTrueAtOnceWithTheWriteBarrier(t *testing.T) {
	r := newRolloutNotReady(t, installed.Options{Barrier: true})
	barrier, err := installed.CreateBarrier(r.ctx, shared, r.replica.Name)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(r.replica.WaitReady(r.ctx)).To(Succeed())
	r.waitUntilCalled()
	dev, err := r.App(r.ctx, "dev")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(guestbook.Crowd(r.ctx, shared.Admin, dev)).To(Succeed())
	count := func(kind string) float64 {
		n, err := r.replica.Metric(r.ctx, "stepgate_live_reads_total", "kind", kind, "result", "ok")
		r.Expect(err).NotTo(HaveOccurred())
		return n
	}
	r.done("dev")
	r.done("qa")
	// It may have failed before it existed, and then rests.
	r.Eventually(func() float64 {
		r.Expect(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)).To(Succeed())
		return count("application_barrier")
	}).WithTimeout(time.Minute).Should(BeNumerically(">", 0))

	lists, proven := count("application_metadata_list"), count("application_barrier")
	const rounds = 50
	for range rounds {
		r.done("dev")
		r.Expect(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)).To(Succeed())
		r.Expect(r.update(cluster.ControllerAccount, "dev", func(app *argo.Application) {
			guestbook.Compare(app, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeSynced, "Degraded")
		})).To(Succeed())
		r.Expect(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)).NotTo(Succeed())
	}
	proven, lists = count("application_barrier")-proven, count("application_metadata_list")-lists
	t.Logf("%d allows: %v by the barrier, %v by a LIST", rounds, proven, lists)

	r.Expect(shared.Admin.Get(r.ctx, client.ObjectKeyFromObject(barrier), barrier)).To(Succeed())
	r.Expect(barrier.Annotations).To(HaveKey(live.BarrierAnnotation))
	r.Expect(barrier.Operation).To(BeNil())
}

// TestTheWriteBarrierIsAllThatMayBeAnnotated lets stepgate's account write the barrier's annotation elsewhere.
func TestTheWriteBarrierIsAllThatMayBeAnnotated(t *testing.T) {
	r := newRollout(t)
	barrier, err := installed.CreateBarrier(r.ctx, shared, r.replica.Name)
	r.Expect(err).NotTo(HaveOccurred())
	account := "system:serviceaccount:" + r.replica.Name + ":" + r.replica.Name
	times := 0
	annotate := func(app client.Object) error {
		times++
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, live.BarrierAnnotation, times)
		return r.as(account).Patch(r.ctx, app, client.RawPatch("application/merge-patch+json", []byte(patch)))
	}
	r.Expect(annotate(barrier)).To(Succeed())
	// docs/install.md, "Kubernetes 1.28 and 1.29": only stepgate's code keeps to the annotation
	if !shared.HasAdmissionPolicies() {
		r.Expect(annotate(r.app("dev"))).To(Succeed())
		return
	}
	// The API server applies a new admission policy a moment after it is created.
	r.Eventually(func() error { return annotate(r.app("dev")) }).Should(
		MatchError(ContainSubstring("stepgate may only set argocd.argoproj.io/refresh")))
	operation := client.RawPatch("application/merge-patch+json", []byte(`{"operation":{"sync":{}}}`))
	r.Expect(r.as(account).Patch(r.ctx, barrier,
		operation)).To(MatchError(ContainSubstring("stepgate may not change .operation")))
}
