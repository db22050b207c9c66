// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// watching returns a registration that has read the configuration; nil: that has read that there is none.
func watching(t *testing.T, configuration *admissionv1.ValidatingWebhookConfiguration) *registration {
	t.Helper()
	g := NewWithT(t)
	client := fake.NewClientset()
	if configuration != nil {
		client = fake.NewClientset(configuration)
	}
	r, err := newRegistration(validating{client, testConfiguration}, "do something", func() {})
	g.Expect(err).NotTo(HaveOccurred())
	start(t, r.Start)
	g.Eventually(r.informer.HasSynced).Should(BeTrue())
	return r
}

// start runs what runs until its context is done, and sees at the end of the test that it then returns nil.
func start(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		NewWithT(t).Eventually(done).Should(Receive(BeNil()))
	})
}

func TestReady(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	ca, other := makeCA(t, "ca", now, now.Add(48*time.Hour)), makeCA(t, "other", now, now.Add(48*time.Hour))
	gone := makeCA(t, "gone", now, now.Add(time.Minute))
	leaf := ca.leaf(t, now)
	clientOnly := *ca.leaf(t, now)
	clientOnly.Leaf = sign(t, &x509.Certificate{
		SerialNumber: leaf.Leaf.SerialNumber, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: now, NotAfter: now.Add(time.Hour),
	}, ca.certificate, ca.key, ca.key)
	at := func(d time.Duration) string { return stamp(now.Add(d)) }

	for name, tc := range map[string]struct {
		certificate *tls.Certificate
		trusted     *admissionv1.ValidatingWebhookConfiguration
		after       time.Duration
		want        string
	}{
		"the bundle verifies it":              {leaf, configurationOf(ca.pem()), 0, ""},
		"the bundle verifies it among others": {leaf, configurationOf(append(other.pem(), ca.pem()...)), 0, ""},
		"every webhook verifies it":           {leaf, configurationOf(ca.pem(), ca.pem()), 0, ""},
		"there is no configuration":           {leaf, nil, 0, ""},
		"the configuration has no webhook":    {leaf, configurationOf(), 0, ""},
		"there is no certificate":             {nil, nil, 0, "there is no serving certificate"},
		"there is an empty certificate":       {&tls.Certificate{}, nil, 0, "there is no serving certificate"},
		"the certificate does not parse":      {&tls.Certificate{Certificate: [][]byte{{1}}}, nil, 0, "the serving certificate does not parse: x509: malformed certificate"},
		"it is not valid yet": {leaf, configurationOf(ca.pem()), -time.Second,
			"the serving certificate is not valid before " + at(0) + ", and it is " + at(-time.Second) + ": check this node's clock"},
		"it has expired": {leaf, configurationOf(ca.pem()), time.Hour + time.Second,
			"the serving certificate expired at " + at(time.Hour) + ", and it is " + at(time.Hour+time.Second) +
				": it was not renewed; the log says why, or see whoever writes the certificate files"},
		"the caBundle is not set": {leaf, configurationOf(nil), 0,
			"ValidatingWebhookConfiguration stepgate: webhook a.stepgate.io has no caBundle, so the API server cannot verify stepgate: do something"},
		"the caBundle is another CA's": {leaf, configurationOf(other.pem()), 0,
			"ValidatingWebhookConfiguration stepgate: the caBundle of webhook a.stepgate.io lacks the CA of the serving certificate: do something"},
		"the caBundle is garbage": {leaf, configurationOf([]byte("garbage")), 0,
			"ValidatingWebhookConfiguration stepgate: the caBundle of webhook a.stepgate.io lacks the CA of the serving certificate: do something"},
		"the second webhook's caBundle is another CA's": {leaf, configurationOf(ca.pem(), other.pem()), 0,
			"ValidatingWebhookConfiguration stepgate: the caBundle of webhook b.stepgate.io lacks the CA of the serving certificate: do something"},
		"it is no server's certificate": {&clientOnly, configurationOf(ca.pem()), 0,
			"ValidatingWebhookConfiguration stepgate: the caBundle of webhook a.stepgate.io does not verify the serving certificate: " +
				"x509: certificate specifies an incompatible key usage: do something"},
		"its CA has expired": {gone.leaf(t, now), configurationOf(gone.pem()), 2 * time.Minute,
			"ValidatingWebhookConfiguration stepgate: the caBundle of webhook a.stepgate.io does not verify the serving certificate: " +
				"x509: certificate has expired or is not yet valid: current time " + at(2*time.Minute) + " is after " + at(time.Minute) + ": do something"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := ready(tc.certificate, watching(t, tc.trusted), now.Add(tc.after))
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tc.want))
		})
	}
}

func TestNotReadyBeforeTheConfigurationIsRead(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	r, err := newRegistration(validating{fake.NewClientset(), testConfiguration}, "do something", func() {})
	g.Expect(err).NotTo(HaveOccurred())

	leaf := makeCA(t, "ca", now, now.Add(time.Hour)).leaf(t, now.Add(-time.Second))
	g.Expect(ready(leaf, r, now)).To(MatchError("ValidatingWebhookConfiguration stepgate has not been read yet: " +
		"if this lasts, see that the API server is reachable and that stepgate's service account may get, list and watch it"))
	g.Expect(ready(leaf, registrations(nil), now)).To(Succeed())
}

// In each case all configurations but the named ones exist, and carry the CA of the certificate or another one.
func TestEveryConfigurationCountsForReadiness(t *testing.T) {
	now := time.Now()
	ca, other := makeCA(t, "ca", now, now.Add(48*time.Hour)), makeCA(t, "other", now, now.Add(48*time.Hour))
	lacks := func(configuration string) string {
		return configuration + ": the caBundle of webhook a.stepgate.io lacks the CA of the serving certificate: " +
			filesRemedy
	}
	for name, tc := range map[string]struct {
		absent, wrong string
		want          string
	}{
		"all verify it":               {"", "", ""},
		"none exists":                 {"v1 v2 m1 m2", "", ""},
		"one of each kind is absent":  {"v1 m2", "", ""},
		"the second validating one":   {"", "v2", lacks("ValidatingWebhookConfiguration v2")},
		"the first mutating one":      {"", "m1", lacks("MutatingWebhookConfiguration m1")},
		"a mutating one is all":       {"v1 v2 m1", "m2", lacks("MutatingWebhookConfiguration m2")},
		"one of each kind is wrong":   {"m2", "v1 m1", lacks("ValidatingWebhookConfiguration v1") + "; " + lacks("MutatingWebhookConfiguration m1")},
		"a mutating one and no other": {"v1 v2", "m1 m2", lacks("MutatingWebhookConfiguration m1") + "; " + lacks("MutatingWebhookConfiguration m2")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			bundle := func(name string) []byte {
				if strings.Contains(tc.wrong, name) {
					return other.pem()
				}
				return ca.pem()
			}
			var objects []runtime.Object
			for _, n := range four.Validating {
				if !strings.Contains(tc.absent, n) {
					objects = append(objects, validatingOf(n, bundle(n)))
				}
			}
			for _, n := range four.Mutating {
				if !strings.Contains(tc.absent, n) {
					objects = append(objects, mutatingOf(n, bundle(n)))
				}
			}
			dir, metrics := t.TempDir(), prometheus.NewPedanticRegistry()
			mount(t, dir, "..1", ca.leaf(t, now.Add(-time.Second)))
			source, err := newFiles(FilesOptions{
				Dir: dir, Configurations: four, Metrics: metrics,
			}, fake.NewClientset(objects...))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(source.Ready()).To(MatchError(ContainSubstring("MutatingWebhookConfiguration m2 has not been read yet")))
			start(t, source.Start)

			inSync := 0.0
			if tc.want == "" {
				inSync = 1
				g.Eventually(source.Ready).Should(Succeed())
			} else {
				g.Eventually(source.Ready).Should(MatchError(tc.want))
			}
			g.Expect(gauges(g, metrics)).To(HaveKeyWithValue(inSyncMetric, inSync))
		})
	}
}
