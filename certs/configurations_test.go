// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var (
	four              = Configurations{Validating: []string{"v1", "v2"}, Mutating: []string{"m1", "m2"}}
	mutatingResources = configurations.GroupVersion().WithResource("mutatingwebhookconfigurations")
)

// bundles are the caBundles by kind and name; the webhooks of one configuration are joined.
func bundles(g Gomega, client *fake.Clientset, of Configurations) map[string]string {
	found := map[string]string{}
	for _, a := range of.open(client) {
		current, err := a.Get(context.Background())
		g.Expect(err).NotTo(HaveOccurred())
		for _, w := range current.webhooks {
			found[a.String()] += string(w.caBundle)
		}
	}
	return found
}

// allFour is a map as bundles returns it.
func allFour(bundle []byte) map[string]string {
	all := map[string]string{}
	for _, a := range four.open(nil) {
		all[a.String()] = string(bundle)
	}
	return all
}

func TestSelfPublishesToEveryConfiguration(t *testing.T) {
	g := NewWithT(t)
	own := makeCA(t, authorityName, time.Now(), time.Now().Add(48*time.Hour))
	ca, metrics := &fakeAuthority{}, prometheus.NewPedanticRegistry()
	client := fake.NewClientset(validatingOf("v1", nil), validatingOf("v2", nil), mutatingOf("m1", nil),
		mutatingOf("m2", nil))
	ca.rotate(g, client, own)
	o := selfOptions()
	o.Configurations, o.Metrics = four, metrics
	source, err := newSelf(o, client, ca)
	g.Expect(err).NotTo(HaveOccurred())
	start(t, source.Start)

	g.Eventually(source.Ready).Should(Succeed())
	g.Expect(bundles(g, client, four)).To(Equal(allFour(own.pem())))
	g.Expect(gauges(g, metrics)).To(HaveKeyWithValue(inSyncMetric, 1.0))
	g.Expect(patches(client)).To(HaveLen(4))

	g.Expect(client.Tracker().Update(mutatingResources, mutatingOf("m2", nil), "")).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(bundles(g, client, four)).To(Equal(allFour(own.pem())), "the wiped one is restored")
	}).Should(Succeed())
	g.Expect(client.Tracker().Update(configurations, validatingOf("v1", nil), "")).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(bundles(g, client, four)).To(Equal(allFour(own.pem())), "and the one of the other kind")
	}).Should(Succeed())
	g.Expect(patches(client)).To(HaveLen(6), "the others are not written again")
	expectNamedOnly(g, client)
}

// expectNamedOnly checks that a role which is restricted to the four names allows all that was done with
// configurations.
func expectNamedOnly(g Gomega, client *fake.Clientset) {
	allowed := map[string]bool{}
	for _, names := range [][]string{four.Validating, four.Mutating} {
		for _, name := range names {
			allowed[name] = true
		}
	}
	for _, action := range client.Actions() {
		var name string
		switch action := action.(type) {
		case clienttesting.ListActionImpl:
			name, _ = action.ListRestrictions.Fields.RequiresExactMatch("metadata.name")
		case clienttesting.WatchActionImpl:
			name, _ = action.WatchRestrictions.Fields.RequiresExactMatch("metadata.name")
		case clienttesting.GetActionImpl:
			name = action.Name
		case clienttesting.PatchActionImpl:
			name = action.Name
		}
		if action.GetResource() != secretsResource {
			g.Expect(allowed).To(HaveKey(name), "%s %s", action.GetVerb(), action.GetResource().Resource)
		}
	}
}

// One configuration is cainjector's and one is forbidden. The others are written, and Ready names the two.
func TestOneConfigurationDoesNotStopTheOthers(t *testing.T) {
	g := NewWithT(t)
	own := makeCA(t, authorityName, time.Now(), time.Now().Add(48*time.Hour))
	injected := mutatingOf("m1", nil)
	injected.Annotations = map[string]string{"cert-manager.io/inject-ca-from": "argocd/stepgate"}
	client, ca := fake.NewClientset(validatingOf("v1", nil), validatingOf("v2", nil), injected, mutatingOf("m2", nil)),
		&fakeAuthority{}
	client.PrependReactor("patch", configurations.Resource,
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.(clienttesting.PatchAction).GetName() != "v1" {
				return false, nil, nil
			}
			return true, nil, apierrors.NewForbidden(configurations.GroupResource(), "v1", errors.New("no patch"))
		})
	ca.rotate(g, client, own)
	o := selfOptions()
	o.Configurations = four
	source, err := newSelf(o, client, ca)
	g.Expect(err).NotTo(HaveOccurred())
	start(t, source.Start)

	want := allFour(own.pem())
	delete(want, "ValidatingWebhookConfiguration v1")
	delete(want, "MutatingWebhookConfiguration m1")
	written := Configurations{Validating: []string{"v2"}, Mutating: []string{"m2"}}
	g.Eventually(func(g Gomega) { g.Expect(bundles(g, client, written)).To(Equal(want)) }).Should(Succeed())
	const (
		forbidden = `writing the caBundle of ValidatingWebhookConfiguration v1: validatingwebhookconfigurations.admissionregistration.k8s.io "v1" is forbidden: no patch`
		injector  = "MutatingWebhookConfiguration m1 is annotated cert-manager.io/inject-ca-from, so cert-manager's " +
			"cainjector owns its " +
			"caBundle and stepgate does not write it: remove the annotation, or use --cert-dir"
	)
	g.Eventually(source.publisher.LastError).Should(MatchError(forbidden + "; " + injector))
	g.Expect(apierrors.IsForbidden(source.publisher.LastError())).To(BeTrue())
	g.Eventually(source.Ready).Should(MatchError("a serving certificate is signed, but held back: " +
		"ValidatingWebhookConfiguration v1: webhook a.stepgate.io has no caBundle, so the API server cannot verify stepgate: " + selfRemedy + "; " +
		"MutatingWebhookConfiguration m1: webhook a.stepgate.io has no caBundle, so the API server cannot verify stepgate: " + selfRemedy +
		"; the last attempt to publish the CA bundle failed: " + forbidden + "; " + injector))

	g.Expect(client.Tracker().Update(mutatingResources, mutatingOf("m2", nil), "")).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(bundles(g, client, written)).To(Equal(want))
	}).Should(Succeed(), "a wiped one is restored all the same")
	g.Expect(bundles(
		g, client, Configurations{Mutating: []string{"m1"}},
	)).To(Equal(map[string]string{"MutatingWebhookConfiguration m1": ""}))
}

// Every configuration meets one conflict, with a write that brings another replica's CA.
func TestEveryConfigurationIsReadAgainAfterItsConflict(t *testing.T) {
	g := NewWithT(t)
	ours := makeCA(t, "ours", time.Now(), time.Now().Add(time.Hour))
	theirs := makeCA(t, "theirs", time.Now(), time.Now().Add(time.Hour))
	client := fake.NewClientset(secretOf(ours), validatingOf("v1", nil), validatingOf("v2", nil), mutatingOf("m1", nil),
		mutatingOf("m2", nil))
	var writes sync.Map
	client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name, resource := action.(clienttesting.PatchAction).GetName(), action.GetResource()
		if _, again := writes.LoadOrStore(name, true); again {
			return false, nil, nil
		}
		var other runtime.Object = validatingOf(name, theirs.pem())
		if resource == mutatingResources {
			other = mutatingOf(name, theirs.pem())
		}
		g.Expect(client.Tracker().Update(resource, other, "")).To(Succeed())
		return true, nil, apierrors.NewConflict(resource.GroupResource(), name, errors.New("changed"))
	})

	g.Expect(publisherFor(client, four).publish(t.Context())).To(Succeed())

	g.Expect(bundles(g, client, four)).To(Equal(allFour(append(theirs.pem(), ours.pem()...))), "no CA is lost")
	g.Expect(patches(client)).To(HaveLen(8), "one conflict and one write each")
}

func TestPublisherAppliesOnlyTheBundleOfAMutatingConfiguration(t *testing.T) {
	g := NewWithT(t)
	ca := makeCA(t, "ca", time.Now(), time.Now().Add(time.Hour))
	client := fake.NewClientset(secretOf(ca), mutatingOf("stepgate", nil, nil))
	publisher := publisherFor(client, Configurations{Mutating: []string{"stepgate"}})

	g.Expect(publisher.publish(t.Context())).To(Succeed())

	g.Expect(patches(client)).To(HaveLen(1))
	g.Expect(patches(client)[0].PatchOptions.FieldManager).To(Equal("stepgate"))
	g.Expect(*patches(client)[0].PatchOptions.Force).To(BeTrue())
	bundle := base64.StdEncoding.EncodeToString(ca.pem())
	g.Expect(string(patches(client)[0].GetPatch())).To(MatchJSON(fmt.Sprintf(`{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": {"name": "stepgate", "uid": "uid-1", "resourceVersion": "7"},
		"webhooks": [{"name": "a.stepgate.io", "clientConfig": {"caBundle": %q}}, {"name": "b.stepgate.io", "clientConfig": {"caBundle": %q}}]}`, bundle, bundle)))
	g.Expect(publisher.publish(t.Context())).To(Succeed())
	g.Expect(patches(client)).To(HaveLen(1), "no change, no write")
}

// A hanging write of one configuration does not delay the others.
func TestASlowConfigurationDoesNotDelayTheOthers(t *testing.T) {
	g := NewWithT(t)
	ca := makeCA(t, "ca", time.Now(), time.Now().Add(time.Hour))
	client := fake.NewClientset(secretOf(ca), validatingOf("v2", nil), mutatingOf("m1", nil), mutatingOf("m2", nil))
	publisher := publisherFor(client, Configurations{Validating: []string{"v2"}, Mutating: four.Mutating})
	publisher.configurations = append([]configurationStore{hanging{}}, publisher.configurations...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- publisher.publish(ctx) }()

	g.Eventually(func(g Gomega) {
		for of, bundle := range bundles(g, client, Configurations{Validating: []string{"v2"}, Mutating: four.Mutating}) {
			g.Expect(bytes.Equal([]byte(bundle), ca.pem())).To(BeTrue(), of)
		}
	}).Should(Succeed())
	cancel()
	g.Eventually(done).Should(Receive(MatchError("reading hanging: context canceled")))
}

// hanging is a configuration that never answers.
type hanging struct{ configurationStore }

func (hanging) String() string { return "hanging" }

func (hanging) Get(ctx context.Context) (*configuration, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
