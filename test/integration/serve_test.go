package integration

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/release"
)

func TestSIGTERMDrains(t *testing.T) {
	r := newRollout(t, "--shutdown-delay=4s")
	r.Expect(r.gate.Ready(r.ctx)).To(Succeed())

	r.Expect(r.gate.Terminate()).To(Succeed())

	r.Eventually(func() error { return r.gate.Ready(r.ctx) }).WithTimeout(2 * time.Second).Should(MatchError(ContainSubstring("shutting down")))
	r.denied(r.sync(cluster.ApplicationSetAccount, "qa"), r.oneBlocker(), "NotHealthy engineering-dev-guestbook")
	r.Expect(r.gate.Wait()).To(Equal(0))
}

// registration reads the gate's own ValidatingWebhookConfiguration.
func (r *rollout) registration() *admissionregistrationv1.ValidatingWebhookConfiguration {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	r.Expect(r.admin.Get(r.ctx, client.ObjectKey{Name: r.gate.Name}, configuration)).To(Succeed())
	return configuration
}

func (r *rollout) bundle() []byte { return r.registration().Webhooks[0].ClientConfig.CABundle }

func (r *rollout) setBundle(bundle []byte) {
	r.t.Helper()
	configuration := r.registration()
	before := configuration.DeepCopy()
	configuration.Webhooks[0].ClientConfig.CABundle = bundle
	r.Expect(r.admin.Patch(r.ctx, configuration, client.MergeFrom(before))).To(Succeed())
}

func TestAWipedBundleIsRestored(t *testing.T) {
	r := newRollout(t)
	before := r.bundle()
	r.Expect(before).NotTo(BeEmpty())

	r.setBundle(nil)

	r.Eventually(r.bundle).WithTimeout(20 * time.Second).Should(Equal(before))
	r.Eventually(func() error { return r.sync(cluster.ApplicationSetAccount, "dev") }).WithTimeout(20 * time.Second).Should(Succeed())
}

func TestADeletedCAIsReplacedWithoutAFailedCall(t *testing.T) {
	r := newRollout(t)
	before := r.bundle()

	r.Expect(r.admin.Delete(r.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.gate.Name, Name: r.gate.Name + "-ca"}})).To(Succeed())

	// Every call is answered with a decision while the new CA is published, and after the leaf of it is served.
	r.Eventually(func() int {
		r.Expect(r.sync(cluster.ApplicationSetAccount, "dev", client.DryRunAll)).To(Succeed())
		return bytes.Count(r.bundle(), []byte("BEGIN CERTIFICATE"))
	}).WithTimeout(20 * time.Second).Should(Equal(2))
	r.Expect(bytes.HasPrefix(r.bundle(), before)).To(BeTrue(), "the previous CA is kept")
	old := x509.NewCertPool()
	old.AppendCertsFromPEM(before)
	r.Eventually(func() error {
		r.Expect(r.sync(cluster.ApplicationSetAccount, "dev", client.DryRunAll)).To(Succeed())
		return handshake(r.gate.Webhook, old)
	}).WithTimeout(20*time.Second).Should(HaveOccurred(), "a leaf of the new CA is served")
	r.Expect(r.sync(cluster.ApplicationSetAccount, "dev", client.DryRunAll)).To(Succeed())
}

func TestOnlyTheBundleOfTheRegistrationIsWritten(t *testing.T) {
	r := newRollout(t)

	var fields []string
	for _, m := range r.registration().ManagedFields {
		if m.Manager == "stepgate" {
			fields = append(fields, m.FieldsV1.GetRawString())
		}
	}

	r.Expect(fields).To(Equal([]string{
		`{"f:webhooks":{"k:{\"name\":\"operation.stepgate.io\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},"f:name":{}}}}`,
	}))
}

// TestFilesAreServedAndReloaded plays the part of cert-manager: it writes the files and fills the bundle.
func TestFilesAreServedAndReloaded(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	ca := writeCertificate(g, dir)
	r := newRolloutNotReady(t, release.Options{CertArgs: []string{"--cert-mode=files", "--cert-dir=" + dir}})

	r.Expect(r.gate.Ready(r.ctx)).To(MatchError(ContainSubstring("caBundle")))
	r.setBundle(ca)
	r.Eventually(func() error { return r.gate.Ready(r.ctx) }).WithTimeout(20 * time.Second).Should(Succeed())
	r.waitUntilCalled()

	next := writeCertificate(g, dir)
	r.setBundle(append(ca, next...))
	renewed := x509.NewCertPool()
	renewed.AppendCertsFromPEM(next)
	r.Eventually(func() error { return handshake(r.gate.Webhook, renewed) }).WithTimeout(30 * time.Second).Should(Succeed())
	r.Eventually(func() error { return r.sync(cluster.ApplicationSetAccount, "dev", client.DryRunAll) }).WithTimeout(20 * time.Second).Should(Succeed())
}

// handshake connects to a TLS server and verifies its certificate.
func handshake(address string, roots *x509.CertPool) error {
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err != nil {
		return err
	}
	return conn.Close()
}

// writeCertificate writes a self-signed certificate for loopback as tls.crt and tls.key, and returns it.
func writeCertificate(g *WithT, dir string) []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		// Renamed into place, as kubelet swaps a mounted Secret.
		temporary := filepath.Join(dir, "."+name)
		g.Expect(os.WriteFile(temporary, text, 0o600)).To(Succeed())
		g.Expect(os.Rename(temporary, filepath.Join(dir, name))).To(Succeed())
	}
	return certificate
}
