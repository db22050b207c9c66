// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
)

// TestWhatIsDueIsStarted lets the Applications of later steps become due while nobody asks for their syncs.
func TestWhatIsDueIsStarted(t *testing.T) {
	r := newRolloutWith(t, installed.Options{Starts: true})
	lease := &coordinationv1.Lease{}
	r.Eventually(func() error {
		return shared.Admin.Get(r.ctx, client.ObjectKey{Namespace: r.replica.Name, Name: r.replica.Name + "-start"}, lease)
	}).Should(Succeed())
	r.Consistently(func() bool { return r.stored("qa") || r.stored("prod") }, 2*time.Second).Should(BeFalse(),
		"dev is Progressing")
	factor := int64(3)
	retry := &argo.RetryStrategy{
		Limit: 2, Refresh: true, Backoff: &argo.Backoff{Duration: "5s", Factor: &factor, MaxDuration: "3m"},
	}
	r.Expect(r.update("", "qa", func(app *argo.Application) {
		app.Spec.SyncPolicy = &argo.SyncPolicy{
			Automated: &argo.SyncPolicyAutomated{Prune: new(true)}, SyncOptions: argo.SyncOptions{"CreateNamespace=true"}, Retry: retry,
		}
	})).To(Succeed())
	r.done("dev")
	r.Eventually(func() *argo.Operation { return r.app("qa").Operation }).ShouldNot(BeNil())
	op := r.app("qa").Operation
	r.Expect([]any{op.Sync.Prune, op.Sync.SyncOptions}).To(Equal([]any{true, argo.SyncOptions{"CreateNamespace=true"}}),
		"its policy has them, and the admission policy lets them through")
	retry.Refresh = false
	r.Expect(op.Retry).To(Equal(*retry), "a retry does not resolve the branch again")
	r.Expect(op.InitiatedBy).To(Equal(argo.OperationInitiator{Username: "stepgate", Automated: true}))
	r.Expect(op.Sync.Revision).To(Equal(guestbook.NewCommit))
	r.Expect(op.Sync.Source).To(Equal(r.app("qa").Spec.Source), "the mutating webhook has added it")
	r.Expect(r.stored("prod")).To(BeFalse(), "qa is not done")
	r.Eventually(func() int { return len(r.events("qa", "SyncStarted")) }).Should(Equal(1))
	r.Expect(r.events("qa", "SyncStarted")[0].Note).To(ContainSubstring("stepgate starts this sync of step 2 of " +
		"ApplicationSet " + r.namespace + "/guestbook to " + guestbook.NewCommit[:7] + ": it may start, and Argo CD has not started it"))
	started, err := r.replica.Metric(r.ctx, "stepgate_starts_total", "result", "started")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(started).To(BeNumerically("==", 1))
	unlisted, err := r.replica.Metric(r.ctx, "stepgate_unlisted_account_operations_total")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(unlisted).To(BeZero(), "stepgate knows itself")
}

// TestNothingIsStartedThatNobodyJudges switches the namespace off: the API server calls no webhook then.
func TestNothingIsStartedThatNobodyJudges(t *testing.T) {
	r := newRolloutWith(t, installed.Options{Starts: true})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
	patch := []byte(`{"metadata":{"labels":{"stepgate.io/ignore":"true"}}}`)
	r.Expect(shared.Admin.Patch(r.ctx, namespace, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	r.Eventually(func() error { return r.sync(cluster.Human, "prod", client.DryRunAll) }).Should(Succeed(),
		"the gate is switched off")
	r.pending("qa")
	r.done("dev")
	r.Eventually(func() (float64, error) {
		return r.replica.Metric(r.ctx, "stepgate_starts_total", "result", "unjudged")
	}).Should(BeNumerically(">", 0))
	r.Expect(r.stored("qa")).To(BeFalse())
}

// TestWithoutStartNothingIsStarted is the same, and stepgate only asks for a refresh.
func TestWithoutStartNothingIsStarted(t *testing.T) {
	r := newRollout(t)
	r.pending("qa")
	r.done("dev")
	r.Eventually(func() string { return r.asked("qa") }).ShouldNot(BeEmpty())
	r.Consistently(func() bool { return r.stored("qa") }, 2*time.Second).Should(BeFalse())
}
