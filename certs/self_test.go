// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestSelfFromFirstStartToRotation(t *testing.T) {
	g := NewWithT(t)
	first := makeCA(t, authorityName, time.Now(), time.Now().Add(48*time.Hour))
	second := makeCA(t, authorityName, time.Now(), time.Now().Add(72*time.Hour))
	client, ca, metrics := fake.NewClientset(configurationOf(nil, nil)), &fakeAuthority{}, prometheus.NewPedanticRegistry()
	o := selfOptions()
	began, ahead := time.Now(), atomic.Int64{}
	o.Settle, o.Metrics, o.Now = time.Second, metrics, func() time.Time { return began.Add(time.Duration(ahead.Load())) }
	source, err := newSelf(o, client, ca)
	g.Expect(err).NotTo(HaveOccurred())
	start(t, source.Start)

	g.Eventually(source.Ready).Should(MatchError(ContainSubstring("no serving certificate has been signed yet")))
	g.Expect(gauges(g, metrics)).To(Equal(map[string]float64{inSyncMetric: 0}))

	ca.rotate(g, client, first)
	g.Eventually(source.Ready).Should(Succeed())
	g.Expect(servedBy(source, first)).To(BeTrue())
	g.Expect(bundlesIn(g, client)).To(Equal([][]byte{first.pem(), first.pem()}))
	certificate, err := source.GetCertificate(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(certificate.Leaf.VerifyHostname("10.0.0.1")).To(Succeed())
	g.Expect(certificate.Leaf.VerifyHostname("stepgate.argocd.svc")).To(Succeed())
	g.Expect(gauges(g, metrics)).To(Equal(map[string]float64{
		inSyncMetric: 1, "serving": float64(certificate.Leaf.NotAfter.Unix()), "ca": float64(first.certificate.NotAfter.Unix()),
	}))

	ca.rotate(g, client, second)
	g.Eventually(func(g Gomega) {
		both := append(first.pem(), second.pem()...)
		g.Expect(bundlesIn(g, client)).To(Equal([][]byte{both, both}))
		g.Expect(servedBy(source, first)).To(BeTrue(), "the new leaf has not settled")
	}).Should(Succeed())
	g.Eventually(func() bool {
		ahead.Add(int64(o.Settle)) // again and again: the new leaf may be accepted only now
		return servedBy(source, second)
	}).Should(BeTrue())
	g.Expect(source.Ready()).To(Succeed())
}

func TestSelfServesNothingThatTheBundleCannotVerify(t *testing.T) {
	g := NewWithT(t)
	client, ca := fake.NewClientset(configurationOf(nil)), &fakeAuthority{}
	client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	ca.rotate(g, client, makeCA(t, authorityName, time.Now(), time.Now().Add(48*time.Hour)))
	source, err := newSelf(selfOptions(), client, ca)
	g.Expect(err).NotTo(HaveOccurred())
	start(t, source.Start)

	g.Eventually(source.Ready).Should(MatchError("a serving certificate is signed, but held back: " +
		"ValidatingWebhookConfiguration stepgate: webhook a.stepgate.io has no caBundle, so the API server cannot verify stepgate: " +
		selfRemedy + "; the last attempt to publish the CA bundle failed: " +
		"writing the caBundle of ValidatingWebhookConfiguration stepgate: forbidden"))
	_, err = source.GetCertificate(nil)
	g.Expect(err).To(MatchError(ContainSubstring("held back")))
}

func TestSelfRepairsAWipedBundle(t *testing.T) {
	g := NewWithT(t)
	client, ca := fake.NewClientset(configurationOf(nil)), &fakeAuthority{}
	own := makeCA(t, authorityName, time.Now(), time.Now().Add(48*time.Hour))
	ca.rotate(g, client, own)
	source, err := newSelf(selfOptions(), client, ca)
	g.Expect(err).NotTo(HaveOccurred())
	start(t, source.Start)
	g.Eventually(source.Ready).Should(Succeed())

	g.Expect(client.Tracker().Update(configurations, configurationOf(nil), "")).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(bundlesIn(g, client)).To(Equal([][]byte{own.pem()}))
		g.Expect(patches(client)).To(HaveLen(2))
		g.Expect(source.Ready()).To(Succeed())
	}).Should(Succeed())
	g.Expect(servedBy(source, own)).To(BeTrue())
}

// All replicas see a wiped bundle at once. If all of them became unready, nobody would be called when it is restored.
func TestSelfStaysReadyForAMomentWhenTheBundleIsWiped(t *testing.T) {
	g := NewWithT(t)
	client, ca, metrics := fake.NewClientset(configurationOf(nil)), &fakeAuthority{}, prometheus.NewPedanticRegistry()
	ca.rotate(g, client, makeCA(t, authorityName, time.Now(), time.Now().Add(48*time.Hour)))
	var forbidden, later atomic.Bool
	client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return forbidden.Load(), nil, errors.New("forbidden")
	})
	o := selfOptions()
	o.Metrics = metrics
	source, err := newSelf(o, client, ca)
	g.Expect(err).NotTo(HaveOccurred())
	source.now = func() time.Time {
		if later.Load() {
			return time.Now().Add(time.Minute)
		}
		return time.Now()
	}
	start(t, source.Start)
	g.Eventually(source.Ready).Should(Succeed())

	forbidden.Store(true)
	g.Expect(client.Tracker().Update(configurations, configurationOf(nil), "")).To(Succeed())
	g.Eventually(func() map[string]float64 { return gauges(g, metrics) }).Should(HaveKeyWithValue(inSyncMetric, 0.0))

	g.Expect(source.Ready()).To(Succeed())
	later.Store(true)
	g.Expect(source.Ready()).To(MatchError(ContainSubstring("has no caBundle")))
}

func TestSelfWithoutAConfiguration(t *testing.T) {
	for name, configuration := range map[string]Configurations{
		"none is named":             {},
		"the named one is absent":   {Validating: []string{testConfiguration}},
		"the named ones are absent": {Validating: []string{testConfiguration, "more"}, Mutating: []string{testConfiguration}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			client, ca, metrics := fake.NewClientset(), &fakeAuthority{}, prometheus.NewPedanticRegistry()
			own := makeCA(t, authorityName, time.Now(), time.Now().Add(48*time.Hour))
			ca.rotate(g, client, own)
			o := selfOptions()
			o.Configurations, o.Metrics = configuration, metrics
			source, err := newSelf(o, client, ca)
			g.Expect(err).NotTo(HaveOccurred())
			start(t, source.Start)

			g.Eventually(source.Ready).Should(Succeed())
			g.Expect(servedBy(source, own)).To(BeTrue())
			g.Eventually(func() map[string]float64 {
				return gauges(g, metrics)
			}).Should(And(HaveKeyWithValue(inSyncMetric, 1.0), HaveKey("ca")))
			g.Expect(patches(client)).To(BeEmpty())
			for _, action := range client.Actions() {
				if configuration.empty() {
					g.Expect(action.GetResource()).To(Equal(secretsResource), "no configuration is even read")
				}
			}
		})
	}
}

func TestSelfEndsWithItsAuthority(t *testing.T) {
	g := NewWithT(t)
	source, err := newSelf(selfOptions(), fake.NewClientset(), &fakeAuthority{fail: errors.New("boom")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(source.Start(t.Context())).To(MatchError(
		"signing serving certificates has stopped: failed to run certificate authority: boom"))
}

func TestSelfOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*SelfOptions)
		want   string
	}{
		"all is set":        {func(*SelfOptions) {}, ""},
		"no configuration":  {func(o *SelfOptions) { o.Configurations = Configurations{} }, ""},
		"an address only":   {func(o *SelfOptions) { o.DNSNames = nil }, ""},
		"no REST config":    {func(o *SelfOptions) { o.RESTConfig = nil }, "RESTConfig is not set"},
		"no Secret":         {func(o *SelfOptions) { o.Secret.Name = "" }, "the namespace and the name of the CA Secret must be set"},
		"no Secret's space": {func(o *SelfOptions) { o.Secret.Namespace = "" }, "the namespace and the name of the CA Secret must be set"},
		"no name at all": {func(o *SelfOptions) { o.DNSNames, o.IPAddresses = nil, nil },
			"neither a DNS name nor an IP address is given; use the one by which the API server calls stepgate, such as stepgate.argocd.svc"},
		"a CA that ends before its leaves": {func(o *SelfOptions) { o.CADuration, o.LeafDuration = time.Minute, time.Hour },
			"the CA's lifetime (1m0s) must be longer than the leaf's (1h0m0s)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := selfOptions()
			tc.change(&o)
			_, err := NewSelf(o)
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError("self-signed serving certificate: " + tc.want))
		})
	}
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	g := NewWithT(t)
	o := selfOptions()
	o.Metrics = prometheus.NewPedanticRegistry()
	_, err := NewSelf(o)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = NewSelf(o)
	g.Expect(err).To(MatchError(ContainSubstring("registering the certificate metrics")))
}
