// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

// fakeAuthority signs with whatever CA it was given last, as cert-manager's does with what it finds in the Secret.
type fakeAuthority struct {
	mu       sync.Mutex
	ca       *testCA
	watchers []chan<- struct{}
	fail     error
}

// Run tells of the CA that is there already, as the real one does when it has read the Secret.
func (a *fakeAuthority) Run(ctx context.Context) error {
	if a.fail != nil {
		return a.fail
	}
	a.tell()
	<-ctx.Done()
	return nil
}

func (a *fakeAuthority) tell() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ca == nil {
		return
	}
	for _, ch := range a.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (a *fakeAuthority) WatchRotation(ch chan<- struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watchers = append(a.watchers, ch)
}

func (a *fakeAuthority) StopWatchingRotation(chan<- struct{}) {}

func (a *fakeAuthority) Sign(template *x509.Certificate) (*x509.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ca == nil {
		return nil, errors.New("no CA")
	}
	template.SerialNumber, template.NotBefore = big.NewInt(3), time.Now().Add(-time.Minute)
	template.NotAfter = time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, a.ca.certificate, template.PublicKey.(crypto.PublicKey),
		a.ca.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// rotate replaces the CA, in the Secret too.
func (a *fakeAuthority) rotate(g Gomega, client *fake.Clientset, ca testCA) {
	a.mu.Lock()
	a.ca = &ca
	a.mu.Unlock()
	if err := client.Tracker().Update(secretsResource, secretOf(ca), testNamespace); err != nil {
		g.Expect(client.Tracker().Create(secretsResource, secretOf(ca), testNamespace)).To(Succeed())
	}
	a.tell()
}

var secretsResource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

func selfOptions() SelfOptions {
	return SelfOptions{
		RESTConfig: &rest.Config{}, Secret: types.NamespacedName{Namespace: testNamespace, Name: testSecret},
		DNSNames: []string{"stepgate.argocd.svc"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)},
		Configurations: Configurations{Validating: []string{testConfiguration}},
	}
}

// servedBy is whether the source serves a leaf of that CA.
func servedBy(source Source, ca testCA) bool {
	certificate, err := source.GetCertificate(nil)
	return err == nil && verify(certificate, ca.pem(), time.Now()) == nil
}

// gauges are the values by the label, or by the name where there is none.
func gauges(g Gomega, metrics prometheus.Gatherer) map[string]float64 {
	families, err := metrics.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, family := range families {
		g.Expect(family.GetName()).To(BeElementOf(expirationMetric, inSyncMetric))
		for _, metric := range family.GetMetric() {
			key := family.GetName()
			for _, label := range metric.GetLabel() {
				g.Expect(label.GetName()).To(Equal("certificate"))
				key = label.GetValue()
			}
			values[key] = metric.GetGauge().GetValue()
		}
	}
	return values
}
