// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
)

// With cert-manager's own controllers and cainjector: the certificate is issued for the name by which the API server
// calls, the caBundle arrives, and no call fails when the leaf or the CA is renewed.
func TestCertManagerIssuesInjectsAndRenews(t *testing.T) {
	g := NewWithT(t)
	installCRDs(t)
	startCertManager(t)
	set := rollout(t, "managed")
	_, err := helm.Run(t.Context(), "install", "stepgate", helm.Chart, "--namespace=managed",
		"--set=certs.mode=certManager", "--set=webhook.url=https://127.0.0.1:1/validate")
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	mounted := mount(t, "managed", "stepgate-tls", dir)
	g.Eventually(mounted).ShouldNot(BeEmpty(), "a certificate is issued")

	replica := serve(t, installed.Chart{
		Name: "stepgate", Namespace: "managed", CertDir: dir, Values: []string{"certs.mode=certManager"},
	})
	denied(t, set)
	calls := callAllTheTime(t, set)

	before, injected := mounted(), caBundle(t)
	renew(t, "stepgate-tls")
	g.Eventually(mounted).ShouldNot(Equal(before), "the leaf is renewed")
	g.Expect(caBundle(t)).To(Equal(injected), "by the same CA")
	g.Eventually(func() error {
		return servedBy(replica, injected, mounted())
	}).Should(Succeed(), "the new leaf is served")

	renew(t, "stepgate-ca")
	g.Eventually(func() string {
		return secretOf(t, "stepgate-cert-manager-ca", "tls.crt")
	}).ShouldNot(Equal(injected), "the CA is renewed")
	g.Eventually(func() string {
		before = mounted()
		renew(t, "stepgate-tls")
		g.Eventually(mounted).ShouldNot(Equal(before))
		return secretOf(t, "stepgate-tls", "ca.crt")
	}).ShouldNot(Equal(injected), "the leaf is signed by the new CA: cert-manager signs by what its watch has seen")
	g.Eventually(func() string { return caBundle(t) }).ShouldNot(Or(BeEmpty(), Equal(injected)), "the new CA is injected")
	g.Eventually(func() error {
		return servedBy(replica, caBundle(t), mounted())
	}).Should(Succeed(), "the new leaf is served")
	atTheEnd := calls.n.Load()
	g.Eventually(calls.n.Load).Should(BeNumerically(">", atTheEnd+5), "calls go on")
	failures := calls.end()
	t.Logf("%d calls meanwhile, %d failed", calls.n.Load(), len(failures))
	g.Expect(failures).To(BeEmpty())
}

func startCertManager(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	program := filepath.Join(shared.Root, "bin", "certmanager")
	g.Expect(program).To(BeARegularFile(), "run `make chart-test`")
	kubeconfig, err := shared.AdminKubeconfig()
	g.Expect(err).NotTo(HaveOccurred())
	var log bytes.Buffer
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--kubeconfig="+kubeconfig)
	command.Stdout, command.Stderr = &log, &log
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
}

// mount plays the kubelet: it keeps a folder like the Secret until the test ends. What it returns gives the certificate
// that is mounted.
func mount(t *testing.T, namespace, name, dir string) func() string {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan struct{})
	t.Cleanup(func() { cancel(); <-stopped })
	for _, key := range []string{"tls.crt", "tls.key"} {
		g.Expect(os.Symlink(filepath.Join("..data", key), filepath.Join(dir, key))).To(Succeed())
	}
	var version string
	sync := func() error {
		var secret corev1.Secret
		if err := shared.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret); err != nil ||
			secret.ResourceVersion == version {
			return client.IgnoreNotFound(err)
		}
		// A folder per version, and one rename that swaps all files at once.
		versioned, next := filepath.Join(dir, ".."+secret.ResourceVersion), filepath.Join(dir, "..data_tmp")
		err := os.Mkdir(versioned, 0o700)
		for key, value := range secret.Data {
			err = errors.Join(err, os.WriteFile(filepath.Join(versioned, key), value, 0o600))
		}
		err = errors.Join(err, os.Symlink(filepath.Base(versioned), next), os.Rename(next, filepath.Join(dir, "..data")))
		version = secret.ResourceVersion
		return err
	}
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(200 * time.Millisecond):
				if err := sync(); err != nil && ctx.Err() == nil {
					t.Error("mount:", err)
				}
			}
		}
	}()
	return func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "tls.crt"))
		return string(text)
	}
}

// renew asks cert-manager to issue again, as `cmctl renew` does.
func renew(t *testing.T, name string) {
	t.Helper()
	g := NewWithT(t)
	certificate := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate"},
	}
	key := client.ObjectKey{Namespace: "managed", Name: name}
	g.Eventually(func(g Gomega) {
		g.Expect(shared.Admin.Get(t.Context(), key, certificate)).To(Succeed())
		conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
		g.Expect(err).NotTo(HaveOccurred())
		conditions = append(conditions, map[string]any{
			"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by a test",
		})
		g.Expect(unstructured.SetNestedSlice(certificate.Object, conditions, "status", "conditions")).To(Succeed())
		g.Expect(shared.Admin.Status().Update(t.Context(), certificate)).To(Succeed())
	}).Should(Succeed())
}

func secretOf(t *testing.T, name, key string) string {
	t.Helper()
	g := NewWithT(t)
	var secret corev1.Secret
	g.Expect(shared.Admin.Get(t.Context(), client.ObjectKey{Namespace: "managed", Name: name}, &secret)).To(Succeed())
	return string(secret.Data[key])
}

// caBundle is the bundle of both configurations, or "" while they differ.
func caBundle(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	bundles, err := installed.Bundles(t.Context(), shared, "stepgate")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bundles).To(HaveLen(4), "every webhook of both configurations")
	if string(bundles[0]) != string(bundles[1]) {
		return ""
	}
	return string(bundles[0])
}

// servedBy returns an error unless the mounted certificate is served, verified by a CA.
func servedBy(replica *installed.Replica, ca, mounted string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca))
	leaf, err := replica.Leaf(roots)
	if err == nil && !strings.HasPrefix(mounted,
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}))) {
		err = errors.New("another certificate is served than the one that is mounted")
	}
	return err
}

// caller sends syncs that must be denied, one after the other.
type caller struct {
	n          atomic.Int64
	stop, done chan struct{}
	failures   []error
}

// end returns the answers that were no denials.
func (c *caller) end() []error {
	close(c.stop)
	<-c.done
	return c.failures
}

func callAllTheTime(t *testing.T, set *argo.ApplicationSet) *caller {
	t.Helper()
	g := NewWithT(t)
	controller, err := shared.Client(cluster.ControllerAccount)
	g.Expect(err).NotTo(HaveOccurred())
	c := &caller{stop: make(chan struct{}), done: make(chan struct{})}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"operation":{"sync":{}}}`))
	go func() {
		defer close(c.done)
		for {
			select {
			case <-c.stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			err := controller.Patch(context.WithoutCancel(t.Context()), guestbook.Application(set, "prod"), patch,
				client.DryRunAll)
			if c.n.Add(1); err == nil || !strings.Contains(err.Error(), "may not sync yet") {
				c.failures = append(c.failures, errors.Join(errors.New("not denied"), err))
			}
		}
	}()
	return c
}
