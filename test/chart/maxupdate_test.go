// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook/slots"
)

// TestMaxUpdateIsKept with the rights and the admission policy of the chart: of two Applications of step 1 one syncs at a
// time. stepgate writes no other ConfigMap than those of the slots.
func TestMaxUpdateIsKept(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	set := rollout(t, "apps-slots")
	serve(t, installed.Chart{Name: "stepgate-slots", Namespace: "stepgate-slots", Values: []string{
		"argocd.applicationNamespaces={apps-slots}", "config.maxUpdate=true",
	}})
	denied(t, set)
	before := set.DeepCopy()
	set.Spec.Strategy.RollingSync.Steps[0].MaxUpdate = &intstr.IntOrString{IntVal: 1}
	g.Expect(shared.Admin.Patch(ctx, set, client.MergeFrom(before))).To(Succeed())
	dev, other := guestbook.Application(set, "dev"), guestbook.Application(set, "dev")
	other.Name = "engineering-dev-other"
	g.Expect(shared.Admin.Create(ctx, other)).To(Succeed())
	compare := func(app *argo.Application, status argo.SyncStatusCode, change func(*argo.Application)) {
		g.Expect(shared.Admin.Get(ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
		before := app.DeepCopy()
		guestbook.Compare(app, time.Now(), guestbook.NewCommit, status, health.HealthStatusHealthy)
		if change != nil {
			change(app)
		}
		g.Expect(shared.Admin.Patch(ctx, app, client.MergeFrom(before))).To(Succeed())
	}
	start := func(app *argo.Application) error {
		g.Expect(shared.Admin.Get(ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
		before := app.DeepCopy()
		app.Operation = guestbook.Once(guestbook.RollingSync())
		return shared.Admin.Patch(ctx, app, client.MergeFrom(before))
	}
	compare(dev, argo.SyncStatusCodeOutOfSync, nil)
	compare(other, argo.SyncStatusCodeOutOfSync, nil)

	g.Eventually(func() error { return start(dev) }).Should(Succeed())
	sentence := "step 1 of ApplicationSet apps-slots/guestbook may not sync yet (MaxUpdateReached: its maxUpdate is " +
		"1): " + dev.Name + " (OperationInProgress). Next: wait until one of them is Healthy"
	g.Expect(start(other)).To(MatchError(ContainSubstring(sentence)))
	kubeconfig, err := shared.AdminKubeconfig()
	g.Expect(err).NotTo(HaveOccurred())
	says := func(args ...string) string {
		text, _ := exec.CommandContext(ctx, shared.Binary, append(args, "-n", "apps-slots",
			"--kubeconfig="+kubeconfig)...).CombinedOutput() // 1 says that it waits
		return strings.Join(strings.Fields(string(text)), " ")
	}
	g.Expect(says("explain", other.Name)).To(ContainSubstring(sentence), "the command line has the same words")
	g.Expect(says("get", "guestbook")).To(ContainSubstring(
		"MaxUpdateReached: its maxUpdate is 1: " + dev.Name + " (OperationInProgress)"))
	kept := &corev1.ConfigMapList{}
	g.Expect(shared.Admin.List(ctx, kept, client.InNamespace("stepgate-slots"),
		client.HasLabels{slots.Label})).To(Succeed())
	g.Expect(kept.Items).To(HaveLen(1))
	g.Expect(kept.Items[0].Name).To(Equal("stepgate-slots-" + string(set.UID)))

	compare(dev, argo.SyncStatusCodeSynced, func(app *argo.Application) {
		guestbook.Start(app, time.Now().Add(-2*time.Second))
		guestbook.Finish(app, time.Now().Add(-time.Second), guestbook.NewCommit)
	})
	g.Eventually(func() error { return start(other) }).Should(Succeed(), "the slot of dev is free")

	if !shared.HasAdmissionPolicies() {
		return
	}
	stepgate, err := client.New(account(t, "stepgate-slots", "stepgate-slots"), client.Options{
		Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	// A policy takes effect a moment after it was stored.
	g.Eventually(func() error {
		return stepgate.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "stepgate-slots", Name: "other"},
		}, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("may only write those that keep the slots")))
}
