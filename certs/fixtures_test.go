// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	testNamespace     = "argocd"
	testSecret        = "stepgate-ca"
	testConfiguration = "stepgate"
)

// testCA signs what the tests serve.
type testCA struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// makeCA signs a CA that is valid from an hour before now until the given time.
func makeCA(t *testing.T, name string, now, expires time.Time) testCA {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now.Add(-time.Hour), NotAfter: expires,
	}
	return testCA{certificate: sign(t, template, template, key, key), key: key}
}

func sign(t *testing.T, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	certificate, err := x509.ParseCertificate(der)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return certificate
}

// leaf signs a serving certificate that is valid for an hour from the given time.
func (c testCA) leaf(t *testing.T, from time.Time) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	leaf := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{"stepgate.argocd.svc"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotBefore: from, NotAfter: from.Add(time.Hour),
	}, c.certificate, key, c.key)
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
}

func (c testCA) pem() []byte { return encode("CERTIFICATE", c.certificate.Raw) }

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// secretOf is the CA Secret as the authority writes it, but for the key.
func secretOf(ca testCA) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testSecret},
		Data:       map[string][]byte{"ca.crt": ca.pem(), "tls.crt": ca.pem()},
	}
}

// configurationOf is a ValidatingWebhookConfiguration with one webhook per bundle: a.stepgate.io, b.stepgate.io.
func configurationOf(bundles ...[]byte) *admissionv1.ValidatingWebhookConfiguration {
	configuration := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: testConfiguration, UID: "uid-1", ResourceVersion: "7", Labels: map[string]string{"app": "stepgate"},
	}}
	for i, bundle := range bundles {
		configuration.Webhooks = append(configuration.Webhooks, admissionv1.ValidatingWebhook{
			Name:                    string(rune('a'+i)) + ".stepgate.io",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			FailurePolicy:           ptr.To(admissionv1.Ignore),
			ClientConfig: admissionv1.WebhookClientConfig{
				CABundle: bundle,
				Service:  &admissionv1.ServiceReference{Namespace: testNamespace, Name: "stepgate", Path: ptr.To("/validate")},
			},
		})
	}
	return configuration
}

// validatingOf is configurationOf with another name.
func validatingOf(name string, bundles ...[]byte) *admissionv1.ValidatingWebhookConfiguration {
	configuration := configurationOf(bundles...)
	configuration.Name = name
	return configuration
}

// mutatingOf is a MutatingWebhookConfiguration with one webhook per bundle.
func mutatingOf(name string, bundles ...[]byte) *admissionv1.MutatingWebhookConfiguration {
	validating := configurationOf(bundles...)
	configuration := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: validating.ObjectMeta}
	configuration.Name = name
	for _, w := range validating.Webhooks {
		configuration.Webhooks = append(configuration.Webhooks, admissionv1.MutatingWebhook{
			Name: w.Name, AdmissionReviewVersions: w.AdmissionReviewVersions, SideEffects: w.SideEffects,
			FailurePolicy: w.FailurePolicy, ClientConfig: w.ClientConfig,
		})
	}
	return configuration
}
