// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/notify"
	"github.com/stepgate/stepgate/test/cluster"
)

// TestTheAccountThatTellsPeopleWritesOneConfigMap, and reads one ConfigMap and one Secret of Argo CD's namespace.
func TestTheAccountThatTellsPeopleWritesOneConfigMap(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	install(t, "stepgate", "telling", "webhook.failurePolicy=Ignore", "notifications.enabled=true")
	stepgate, err := client.New(account(t, "telling", "stepgate-reporter"), client.Options{
		Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	object := func(name string, labels map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "telling", Name: name, Labels: labels}}
	}
	ours := map[string]string{notify.Label: "true"}
	if shared.HasAdmissionPolicies() {
		// A policy takes effect a moment after it was stored.
		g.Eventually(func() error { return stepgate.Create(ctx, object("other", ours), client.DryRunAll) }).Should(
			MatchError(ContainSubstring("stepgate's reporter may only write the one that keeps what it has sent")))
		err := stepgate.Create(ctx, object("stepgate-notifications", nil), client.DryRunAll)
		g.Expect(err).To(MatchError(ContainSubstring("may only write")), "without the label")
	}
	g.Expect(stepgate.Create(ctx, object("stepgate-notifications", ours))).To(Succeed())
	g.Expect(stepgate.Update(ctx, object("stepgate-notifications", ours))).To(Succeed())
	for name, err := range map[string]error{
		"delete":  stepgate.Delete(ctx, object("stepgate-notifications", ours)),
		"another": stepgate.Get(ctx, client.ObjectKey{Namespace: "telling", Name: "other"}, &corev1.ConfigMap{}),
		"all":     stepgate.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("telling")),
		"an Application": stepgate.Patch(ctx, &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.ArgoNamespace, Name: "any"}},
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`))),
		"a Secret":      stepgate.Get(ctx, client.ObjectKey{Namespace: cluster.ArgoNamespace, Name: "argocd-secret"}, &corev1.Secret{}),
		"all Secrets":   stepgate.List(ctx, &corev1.SecretList{}, client.InNamespace(cluster.ArgoNamespace)),
		"Argo CD's own": stepgate.Get(ctx, client.ObjectKey{Namespace: cluster.ArgoNamespace, Name: "argocd-cm"}, &corev1.ConfigMap{}),
	} {
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", name, err)
	}
	key := client.ObjectKey{Namespace: cluster.ArgoNamespace, Name: notify.SecretName}
	g.Expect(apierrors.IsNotFound(stepgate.Get(ctx, key, &corev1.Secret{}))).To(BeTrue(), "it may read that")
	webhook, err := client.New(account(t, "telling", "stepgate"), client.Options{
		Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(apierrors.IsForbidden(webhook.Get(ctx, key, &corev1.Secret{}))).To(BeTrue(), "the webhook's account may not")
}
