// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/installed"
)

func TestSIGTERMDrains(t *testing.T) {
	t.Parallel()
	r := newRollout(t, "--shutdown-delay=20s")
	r.Expect(r.replica.Ready(r.ctx)).To(Succeed())

	r.Expect(r.replica.Terminate()).To(Succeed())

	r.Eventually(func() error { return r.replica.Ready(r.ctx) }).Should(MatchError(ContainSubstring("shutting down")))
	r.denied(r.sync(cluster.ControllerAccount, "qa"), "NotHealthy engineering-dev-guestbook")
	r.Expect(r.replica.Wait()).To(Equal(0))
}

// bundle is the caBundle of all webhooks; empty while they differ.
func (r *rollout) bundle() []byte {
	bundles, err := installed.Bundles(r.ctx, shared, r.replica.Name)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(bundles).To(HaveLen(4))
	for _, b := range bundles {
		if !bytes.Equal(b, bundles[0]) {
			return nil
		}
	}
	return bundles[0]
}

func (r *rollout) setBundle(bundle []byte) {
	r.t.Helper()
	r.Expect(installed.SetBundle(r.ctx, shared, r.replica.Name, bundle)).To(Succeed())
}

func TestAWipedBundleIsRestored(t *testing.T) {
	r := newRollout(t)
	before := r.bundle()
	r.Expect(before).NotTo(BeEmpty())

	r.setBundle(nil)

	r.Eventually(r.bundle).Should(Equal(before))
	r.Eventually(func() error { return r.sync(cluster.ControllerAccount, "dev") }).Should(Succeed())
}

func TestADeletedCAIsReplacedWithoutAFailedCall(t *testing.T) {
	r := newRollout(t)
	before := r.bundle()

	r.Expect(shared.Admin.Delete(r.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.replica.Name, Name: r.replica.Name + "-ca"},
	})).To(Succeed())

	// Every call is answered with a decision while the new CA is published, and after the leaf of it is served.
	r.Eventually(func() int {
		r.Expect(r.sync(cluster.ControllerAccount, "dev", client.DryRunAll)).To(Succeed())
		return bytes.Count(r.bundle(), []byte("BEGIN CERTIFICATE"))
	}).Should(Equal(2))
	r.Expect(bytes.HasPrefix(r.bundle(), before)).To(BeTrue(), "the previous CA is kept")
	old := x509.NewCertPool()
	old.AppendCertsFromPEM(before)
	r.Eventually(func() error {
		r.Expect(r.sync(cluster.ControllerAccount, "dev", client.DryRunAll)).To(Succeed())
		_, err := r.replica.Leaf(old)
		return err
	}).Should(HaveOccurred(), "a leaf of the new CA is served")
	r.Expect(r.sync(cluster.ControllerAccount, "dev", client.DryRunAll)).To(Succeed())
}

func TestOnlyTheBundlesOfTheRegistrationAreWritten(t *testing.T) {
	r := newRollout(t)

	var fields []string
	configurations, err := installed.Configurations(r.ctx, shared, r.replica.Name)
	r.Expect(err).NotTo(HaveOccurred())
	for _, c := range configurations {
		for _, m := range c.GetManagedFields() {
			if m.Manager == "stepgate" {
				fields = append(fields, m.FieldsV1.GetRawString())
			}
		}
	}

	r.Expect(fields).To(Equal([]string{
		`{"f:webhooks":{"k:{\"name\":\"approval.stepgate.io\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},"f:name":{}},` +
			`"k:{\"name\":\"operation.stepgate.io\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},"f:name":{}}}}`,
		`{"f:webhooks":{"k:{\"name\":\"annotations.stepgate.io\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},"f:name":{}},` +
			`"k:{\"name\":\"hold.stepgate.io\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},"f:name":{}}}}`,
	}))
}

// TestFilesAreServedAndReloaded does the work of cert-manager: it writes the files and fills the bundle.
func TestFilesAreServedAndReloaded(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	ca, err := installed.MountFiles(dir, time.Hour)
	g.Expect(err).NotTo(HaveOccurred())
	r := newRolloutNotReady(t, installed.Options{CertArgs: []string{"--cert-dir=" + dir}})

	r.Eventually(func() error { return r.replica.Ready(r.ctx) }).Should(MatchError(ContainSubstring("caBundle")))
	r.setBundle(ca)
	r.Eventually(func() error { return r.replica.Ready(r.ctx) }).Should(Succeed())
	r.waitUntilCalled()

	next, err := installed.MountFiles(dir, time.Hour)
	g.Expect(err).NotTo(HaveOccurred())
	r.setBundle(append(ca, next...))
	renewed := x509.NewCertPool()
	renewed.AppendCertsFromPEM(next)
	r.Eventually(func() error {
		_, err := r.replica.Leaf(renewed)
		return err
	}).WithTimeout(30 * time.Second).Should(Succeed())
	r.Eventually(func() error { return r.sync(cluster.ControllerAccount, "dev", client.DryRunAll) }).Should(Succeed())
}
