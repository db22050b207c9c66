// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func publisherOf(client *fake.Clientset) *bundlePublisher {
	return publisherFor(client, Configurations{Validating: []string{testConfiguration}})
}

func publisherFor(client *fake.Clientset, of Configurations) *bundlePublisher {
	return newBundlePublisher(types.NamespacedName{Namespace: testNamespace, Name: testSecret},
		client.CoreV1().Secrets(testNamespace), of.open(client))
}

func bundlesIn(g Gomega, client *fake.Clientset) [][]byte {
	configuration, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().
		Get(context.Background(), testConfiguration, metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	var bundles [][]byte
	for _, webhook := range configuration.Webhooks {
		bundles = append(bundles, webhook.ClientConfig.CABundle)
	}
	return bundles
}

func patches(client *fake.Clientset) []clienttesting.PatchActionImpl {
	var found []clienttesting.PatchActionImpl
	for _, action := range client.Actions() {
		if patch, ok := action.(clienttesting.PatchActionImpl); ok {
			found = append(found, patch)
		}
	}
	return found
}

func TestPublisherAppliesOnlyTheBundle(t *testing.T) {
	g := NewWithT(t)
	ca := makeCA(t, "ca", time.Now(), time.Now().Add(time.Hour))
	client := fake.NewClientset(secretOf(ca), configurationOf(nil))
	publisher := publisherOf(client)

	g.Expect(publisher.publish(t.Context())).To(Succeed())

	g.Expect(patches(client)).To(HaveLen(1))
	patch := patches(client)[0]
	g.Expect(patch.GetPatchType()).To(Equal(types.ApplyPatchType))
	g.Expect(patch.PatchOptions.FieldManager).To(Equal("stepgate"))
	g.Expect(*patch.PatchOptions.Force).To(BeTrue())
	g.Expect(string(patch.GetPatch())).To(MatchJSON(fmt.Sprintf(`{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": {"name": "stepgate", "uid": "uid-1", "resourceVersion": "7"},
		"webhooks": [{"name": "a.stepgate.io", "clientConfig": {"caBundle": %q}}]}`,
		base64.StdEncoding.EncodeToString(ca.pem()))))

	got, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().
		Get(t.Context(), testConfiguration, metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Webhooks).To(Equal(configurationOf(ca.pem()).Webhooks), "no other field changes")
	g.Expect(got.Labels).To(Equal(configurationOf(nil).Labels))
	g.Expect(publisher.CA().Raw).To(Equal(ca.certificate.Raw))

	g.Expect(publisher.publish(t.Context())).To(Succeed())
	g.Expect(patches(client)).To(HaveLen(1), "no change, no write")
}

func TestPublisherWritesNothing(t *testing.T) {
	ca := makeCA(t, "ca", time.Now(), time.Now().Add(time.Hour))
	injected := configurationOf(nil)
	injected.Annotations = map[string]string{"cert-manager.io/inject-ca-from": "argocd/stepgate"}
	injectedOurs := configurationOf(ca.pem())
	injectedOurs.Annotations = map[string]string{"cert-manager.io/inject-ca-from-secret": "argocd/stepgate-ca"}
	empty := secretOf(ca)
	empty.Data = nil

	for name, tc := range map[string]struct {
		objects []runtime.Object
		wantErr string
	}{
		"while the configuration does not exist": {objects: []runtime.Object{secretOf(ca)}},
		"while the Secret does not exist":        {objects: []runtime.Object{configurationOf(nil)}},
		"when the configuration has no webhooks": {objects: []runtime.Object{secretOf(ca), configurationOf()}},
		"when the bundle is complete":            {objects: []runtime.Object{secretOf(ca), configurationOf(ca.pem())}},
		"when cainjector writes the same CA":     {objects: []runtime.Object{secretOf(ca), injectedOurs}},
		"when cainjector was asked to write another one": {
			objects: []runtime.Object{secretOf(ca), injected},
			wantErr: "ValidatingWebhookConfiguration stepgate is annotated cert-manager.io/inject-ca-from, so cert-manager's " +
				"cainjector owns its caBundle and stepgate does not write it: remove the annotation, or use --cert-dir",
		},
		"when the Secret holds no CA": {
			objects: []runtime.Object{empty, configurationOf(nil)},
			wantErr: "the Secret argocd/stepgate-ca has no certificate in ca.crt: it should be replaced within seconds; " +
				"if this lasts, see that stepgate's service account may update it, or delete it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			client := fake.NewClientset(tc.objects...)
			publisher := publisherOf(client)

			err := publisher.publish(t.Context())

			if tc.wantErr == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(tc.wantErr))
			}
			g.Expect(patches(client)).To(BeEmpty())
			g.Expect(publisher.LastError() == nil).To(Equal(err == nil))
		})
	}
}

func TestPublisherReadsAgainAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	ours := makeCA(t, "ours", time.Now(), time.Now().Add(time.Hour))
	theirs := makeCA(t, "theirs", time.Now(), time.Now().Add(time.Hour))
	client := fake.NewClientset(secretOf(ours), configurationOf(nil))
	writes := 0
	client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		if writes++; writes > 1 {
			return false, nil, nil
		}
		// Another replica was faster.
		g.Expect(client.Tracker().Update(configurations, configurationOf(theirs.pem()), "")).To(Succeed())
		return true, nil, apierrors.NewConflict(configurations.GroupResource(), testConfiguration, errors.New("changed"))
	})

	g.Expect(publisherOf(client).publish(t.Context())).To(Succeed())

	g.Expect(writes).To(Equal(2))
	g.Expect(bundlesIn(g, client)).To(Equal([][]byte{append(theirs.pem(), ours.pem()...)}), "no CA is lost")
}

var configurations = schema.GroupVersionResource{
	Group: admissionv1.GroupName, Version: "v1", Resource: "validatingwebhookconfigurations",
}

func TestPublisherSaysWhatFailed(t *testing.T) {
	ca := makeCA(t, "ca", time.Now(), time.Now().Add(time.Hour))
	for name, tc := range map[string]struct {
		verb, resource string
		want           string
	}{
		"the Secret":         {"get", "secrets", "reading the CA in Secret argocd/stepgate-ca: boom"},
		"reading the bundle": {"get", configurations.Resource, "reading ValidatingWebhookConfiguration stepgate: boom"},
		"writing the bundle": {"patch", configurations.Resource, "writing the caBundle of ValidatingWebhookConfiguration stepgate: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			client := fake.NewClientset(secretOf(ca), configurationOf(nil))
			client.PrependReactor(tc.verb, tc.resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("boom")
			})
			publisher := publisherOf(client)
			g.Expect(publisher.publish(t.Context())).To(MatchError(tc.want))
			g.Expect(publisher.LastError()).To(MatchError(tc.want))
		})
	}
}

func TestPublisherIsBounded(t *testing.T) {
	g := NewWithT(t)
	client := fake.NewClientset(secretOf(makeCA(t, "ca", time.Now(), time.Now().Add(time.Hour))), configurationOf(nil))
	publisher := publisherOf(client)
	g.Expect(publisher.limiter.Limit()).To(Equal(rate.Every(time.Second)))
	publisher.limiter = rate.NewLimiter(0, 3) // three, and never again
	go func() { _ = publisher.Start(t.Context()) }()

	for range 3 {
		g.Expect(client.Tracker().Update(configurations, configurationOf(nil), "")).To(Succeed())
		publisher.wake.raise()
		g.Eventually(func(g Gomega) { g.Expect(bundlesIn(g, client)).NotTo(ContainElement(BeEmpty())) }).Should(Succeed())
	}
	g.Expect(client.Tracker().Update(configurations, configurationOf(nil), "")).To(Succeed())
	publisher.wake.raise()
	g.Consistently(func() int { return len(patches(client)) }, "200ms").Should(Equal(3))
}

func TestPauseAfterFailures(t *testing.T) {
	g := NewWithT(t)
	for failures, want := range []time.Duration{30, 1, 2, 4, 8, 16, 30, 30} {
		g.Expect(pauseAfter(failures)).To(Equal(want*time.Second), "after %d", failures)
	}
	g.Expect(pauseAfter(1 << 40)).To(Equal(30 * time.Second))
}
