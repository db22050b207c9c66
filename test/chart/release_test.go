// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// stored are the names of all objects that the cluster stores, except the objects that the cluster writes by itself.
func stored(ctx context.Context, g Gomega) []string {
	byItself := []string{
		"events", "leases", "componentstatuses", "configmaps/kube-system", "endpointslices", "endpoints", "apiservices",
	}
	clients, err := discovery.NewDiscoveryClientForConfig(shared.Config)
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := metadata.NewForConfig(shared.Config)
	g.Expect(err).NotTo(HaveOccurred())
	_, groups, err := clients.ServerGroupsAndResources()
	g.Expect(err).NotTo(HaveOccurred())
	names := map[string]bool{}
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		g.Expect(err).NotTo(HaveOccurred())
		for _, resource := range group.APIResources {
			if slices.Contains(byItself, resource.Name) || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			list, err := objects.Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // a CRD of another test, which discovery has not forgotten yet
			}
			g.Expect(err).NotTo(HaveOccurred())
			for _, item := range list.Items {
				if !slices.Contains(byItself, resource.Name+"/"+item.Namespace) && !strings.HasPrefix(item.Name, ledger.Prefix) {
					names[strings.Join([]string{version.Group, resource.Name, item.Namespace, item.Name}, "/")] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// An upgrade, with other values and back, keeps the CA and the bundles that stepgate has written; and an uninstall
// leaves nothing behind.
func TestInstallUpgradeRollbackUninstall(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.Expect(shared.CreateNamespace(ctx, "lifecycle")).To(Succeed())
	before := stored(ctx, g)
	run := func(args ...string) {
		t.Helper()
		_, err := helm.Run(ctx, args...)
		g.Expect(err).NotTo(HaveOccurred())
	}
	run("install", "stepgate", helm.Chart, "--namespace=lifecycle", "--set=config.mode=enforce")
	g.Expect(stored(ctx, g)).To(ContainElements(
		"admissionregistration.k8s.io/validatingwebhookconfigurations//stepgate",
		"admissionregistration.k8s.io/mutatingwebhookconfigurations//stepgate",
		"admissionregistration.k8s.io/validatingadmissionpolicies//stepgate",
		"admissionregistration.k8s.io/validatingadmissionpolicybindings//stepgate",
		"apps/deployments/lifecycle/stepgate", "/services/lifecycle/stepgate", "/services/lifecycle/stepgate-metrics",
		"policy/poddisruptionbudgets/lifecycle/stepgate", "/secrets/lifecycle/stepgate-ca",
	))
	// stepgate writes these.
	ca := &corev1.Secret{}
	g.Expect(shared.Admin.Get(ctx, client.ObjectKey{Namespace: "lifecycle", Name: "stepgate-ca"}, ca)).To(Succeed())
	ca.Data = map[string][]byte{"tls.crt": []byte("a certificate")}
	g.Expect(shared.Admin.Update(ctx, ca, client.FieldOwner("stepgate"))).To(Succeed())
	g.Expect(installed.SetBundle(ctx, shared, "stepgate", bundle(g))).To(Succeed())
	// registered returns the failure policies, of the validating webhooks first, and sees that nothing is lost.
	registered := func() []string {
		g.Expect(shared.Admin.Get(ctx, client.ObjectKeyFromObject(ca), ca)).To(Succeed())
		g.Expect(ca.Data).To(HaveKeyWithValue("tls.crt", []byte("a certificate")))
		configurations, err := installed.Configurations(ctx, shared, "stepgate")
		g.Expect(err).NotTo(HaveOccurred())
		var policies []string
		for _, c := range configurations {
			for name, w := range c.Webhooks {
				g.Expect(w.CABundle).To(Equal(bundle(g)), name)
			}
			switch c := c.Object.(type) {
			case *admissionregistrationv1.ValidatingWebhookConfiguration:
				for _, w := range c.Webhooks {
					policies = append(policies, w.Name+" "+string(*w.FailurePolicy))
				}
			case *admissionregistrationv1.MutatingWebhookConfiguration:
				for _, w := range c.Webhooks {
					policies = append(policies, w.Name+" "+string(*w.FailurePolicy))
				}
			}
		}
		return policies
	}
	all := []string{
		"operation.stepgate.io Fail", "approval.stepgate.io Fail", "hold.stepgate.io Ignore", "annotations.stepgate.io Ignore",
	}
	g.Expect(registered()).To(Equal(all))
	run("upgrade", "stepgate", helm.Chart, "--namespace=lifecycle", "--reset-then-reuse-values",
		"--set=pin.mode=candidate,webhook.annotations.a=b")
	g.Expect(registered()).To(Equal(all))
	run("rollback", "stepgate", "1", "--namespace=lifecycle")
	g.Expect(registered()).To(Equal(all))

	run("upgrade", "stepgate", helm.Chart, "--namespace=lifecycle", "--set=config.mode=audit")
	audit := []string{
		"operation.stepgate.io Ignore", "approval.stepgate.io Fail", "hold.stepgate.io Ignore", "annotations.stepgate.io Ignore",
	}
	g.Expect(registered()).To(Equal(audit), "failurePolicy follows the mode")
	run("upgrade", "stepgate", helm.Chart, "--namespace=lifecycle", "--set=config.mode=audit,webhook.failurePolicy=Fail")
	g.Expect(registered()).To(Equal(all), "an explicit value wins")

	run("uninstall", "stepgate", "--namespace=lifecycle")
	g.Eventually(func(g Gomega) { g.Expect(stored(ctx, g)).To(Equal(before)) }).Should(Succeed())
}

// The documented command from audit to enforce changes the mode, and keeps the values of the installation.
func TestFromAuditToEnforce(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	run := func(args ...string) string {
		t.Helper()
		text, err := helm.Run(ctx, args...)
		g.Expect(err).NotTo(HaveOccurred())
		return text
	}
	g.Expect(shared.CreateNamespace(ctx, "mode")).To(Succeed())
	run("install", "stepgate", helm.Chart, "--namespace=mode", "--set=image.registry=registry.example.com")
	uninstallAtEnd(t, "stepgate", "mode")
	run("upgrade", "stepgate", helm.Chart, "--namespace=mode", "--reset-then-reuse-values", "--set=config.mode=enforce")
	manifest := run("get", "manifest", "stepgate", "--namespace=mode")
	g.Expect(manifest).To(ContainSubstring("image: registry.example.com/stepgate/stepgate:"))
	g.Expect(manifest).To(ContainSubstring("--mode=enforce"))
	g.Expect(manifest).To(ContainSubstring("failurePolicy: Fail\n"))
}

// bundle is a CA certificate in PEM: the API server's.
func bundle(g Gomega) []byte {
	config := rest.CopyConfig(shared.Config)
	g.Expect(config.CAData).NotTo(BeEmpty())
	return config.CAData
}
