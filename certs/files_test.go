// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes/fake"
)

// mount writes the certificate as the kubelet mounts a Secret: a new folder, and a link that is replaced at once.
func mount(t *testing.T, dir, version string, certificate *tls.Certificate) {
	t.Helper()
	g := NewWithT(t)
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Mkdir(filepath.Join(dir, version), 0o700)).To(Succeed())
	for name, data := range map[string][]byte{
		"tls.crt": encode("CERTIFICATE", certificate.Certificate[0]), "tls.key": encode("PRIVATE KEY", key),
	} {
		g.Expect(os.WriteFile(filepath.Join(dir, version, name), data, 0o600)).To(Succeed())
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); !os.IsExist(err) {
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	g.Expect(os.Symlink(version, filepath.Join(dir, "..new"))).To(Succeed())
	g.Expect(os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data"))).To(Succeed())
}

func TestFilesAreReadAgain(t *testing.T) {
	g := NewWithT(t)
	dir, now := t.TempDir(), time.Now()
	first := makeCA(t, "first", now, now.Add(48*time.Hour))
	second := makeCA(t, "second", now, now.Add(48*time.Hour))
	mount(t, dir, "..1", first.leaf(t, now.Add(-time.Second)))
	client, metrics := fake.NewClientset(configurationOf(first.pem())), prometheus.NewPedanticRegistry()
	source, err := newFiles(FilesOptions{
		Dir: dir, Configurations: Configurations{Validating: []string{testConfiguration}}, Metrics: metrics,
	}, client)
	g.Expect(err).NotTo(HaveOccurred())
	start(t, source.Start)

	g.Eventually(source.Ready).Should(Succeed())
	g.Expect(servedBy(source, first)).To(BeTrue())
	g.Expect(gauges(g, metrics)).To(And(HaveLen(2), HaveKeyWithValue(inSyncMetric, 1.0), HaveKey("serving")))

	mount(t, dir, "..2", second.leaf(t, now.Add(-time.Second)))
	g.Expect(os.RemoveAll(filepath.Join(dir, "..1"))).To(Succeed())
	g.Eventually(func() bool { return servedBy(source, second) }).Should(BeTrue())
	g.Expect(source.Ready()).To(MatchError("ValidatingWebhookConfiguration stepgate: the caBundle of webhook " +
		"a.stepgate.io " +
		"lacks the CA of the serving certificate: " + filesRemedy))
	g.Expect(gauges(g, metrics)).To(HaveKeyWithValue(inSyncMetric, 0.0))

	g.Expect(client.Tracker().Update(configurations, configurationOf(second.pem()), "")).To(Succeed())
	g.Eventually(source.Ready).Should(Succeed())
	g.Expect(patches(client)).To(BeEmpty(), "files mode never writes")
}

func TestFilesServeTheLastGoodCertificate(t *testing.T) {
	g := NewWithT(t)
	dir, now := t.TempDir(), time.Now()
	ca := makeCA(t, "ca", now, now.Add(48*time.Hour))
	mount(t, dir, "..1", ca.leaf(t, now.Add(-time.Second)))
	source, err := newFiles(FilesOptions{Dir: dir}, nil)
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("garbage"), 0o600)).To(Succeed())
	g.Expect(source.watcher.ReadCertificate()).NotTo(Succeed())
	g.Expect(servedBy(source, ca)).To(BeTrue())
	g.Expect(source.Ready()).To(Succeed())
}

func TestFilesThatAreNotUsable(t *testing.T) {
	now := time.Now()
	leaf := makeCA(t, "ca", now, now.Add(time.Hour)).leaf(t, now)
	for name, tc := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"no certificate": {func(dir string) error { return os.Remove(filepath.Join(dir, "tls.crt")) },
			"open DIR/tls.crt: no such file or directory"},
		"no key": {func(dir string) error { return os.Remove(filepath.Join(dir, "tls.key")) },
			"open DIR/tls.key: no such file or directory"},
		"an empty certificate": {func(dir string) error { return os.Truncate(filepath.Join(dir, "tls.crt"), 0) },
			"tls: failed to find any PEM data in certificate input"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Chdir(t.TempDir())
			g.Expect(os.Mkdir("DIR", 0o700)).To(Succeed())
			mount(t, "DIR", "..1", leaf)
			g.Expect(tc.damage("DIR")).To(Succeed())
			_, err := NewFiles(FilesOptions{Dir: "DIR"})
			g.Expect(err).To(MatchError("serving certificate DIR/tls.crt with key DIR/tls.key is not usable: " + tc.want +
				"; mount a Secret with both there, or leave --cert-dir out"))
		})
	}
}

func TestFilesNeedAClientToLookAtTheConfiguration(t *testing.T) {
	_, err := NewFiles(FilesOptions{
		Dir: t.TempDir(), Configurations: Configurations{Validating: []string{testConfiguration}},
	})
	NewWithT(t).Expect(err).To(MatchError("serving certificate from files: RESTConfig is not set"))
}
