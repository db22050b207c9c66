package chart

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/local"
)

// With cert-manager's own controllers and cainjector: the certificate is issued for the name by which the API server
// calls, the caBundle arrives, and neither the renewal of the leaf nor that of the CA makes a call fail.
func TestCertManagerIssuesInjectsAndRenews(t *testing.T) {
	g := NewWithT(t)
	installCRDs(t)
	startCertManager(t)
	set := rollout(t, "managed")
	_, err := helm.Run(t.Context(), "install", "stepgate", helm.Chart, "--namespace=managed", "--set=certs.mode=certManager", "--set=webhook.url=https://127.0.0.1:1/validate")
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	mounted := mount(t, "managed", "stepgate-tls", dir)
	g.Eventually(mounted).WithTimeout(pollTimeout).ShouldNot(BeEmpty(), "a certificate is issued")

	serve(t, local.Release{Name: "stepgate", Namespace: "managed", CertDir: dir, Values: []string{"certs.mode=certManager"}})
	denied(t, set)
	calls := callAllTheTime(t, set)

	before, injected := mounted(), caBundle(t)
	renew(t, "stepgate-tls")
	g.Eventually(mounted).WithTimeout(pollTimeout).ShouldNot(Equal(before), "the leaf is renewed")
	g.Expect(caBundle(t)).To(Equal(injected), "by the same CA")

	renew(t, "stepgate-ca")
	g.Eventually(func() string { return secretOf(t, "stepgate-cert-manager-ca") }).WithTimeout(pollTimeout).ShouldNot(Equal(injected), "the CA is renewed")
	before = mounted()
	renew(t, "stepgate-tls")
	g.Eventually(mounted).WithTimeout(pollTimeout).ShouldNot(Equal(before))
	g.Eventually(func() string { return caBundle(t) }).WithTimeout(pollTimeout).ShouldNot(Equal(injected), "the new CA is injected")
	n, failures := calls()
	t.Logf("%d calls meanwhile, %d failed", n, len(failures))
	g.Expect(failures).To(BeEmpty())
	g.Expect(n).To(BeNumerically(">", 20))
}

func startCertManager(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	program := filepath.Join(root, "bin", "certmanager")
	g.Expect(program).To(BeARegularFile(), "run `make chart-test`")
	kubeconfig, err := cluster.AdminKubeconfig()
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
	admin := administrator(g)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan struct{})
	t.Cleanup(func() { cancel(); <-stopped })
	sync := func() {
		var secret corev1.Secret
		if admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret) != nil || len(secret.Data["tls.crt"]) == 0 {
			return
		}
		for _, key := range []string{"tls.key", "tls.crt"} {
			hidden := filepath.Join(dir, "."+key)
			if os.WriteFile(hidden, secret.Data[key], 0o600) == nil {
				_ = os.Rename(hidden, filepath.Join(dir, key))
			}
		}
	}
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(200 * time.Millisecond):
				sync()
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
	certificate := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate"}}
	key := client.ObjectKey{Namespace: "managed", Name: name}
	g.Eventually(func(g Gomega) {
		g.Expect(administrator(g).Get(t.Context(), key, certificate)).To(Succeed())
		conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
		g.Expect(err).NotTo(HaveOccurred())
		conditions = append(conditions, map[string]any{"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by a test"})
		g.Expect(unstructured.SetNestedSlice(certificate.Object, conditions, "status", "conditions")).To(Succeed())
		g.Expect(administrator(g).Status().Update(t.Context(), certificate)).To(Succeed())
	}).WithTimeout(pollTimeout).Should(Succeed())
}

func secretOf(t *testing.T, name string) string {
	t.Helper()
	g := NewWithT(t)
	var secret corev1.Secret
	g.Expect(administrator(g).Get(t.Context(), client.ObjectKey{Namespace: "managed", Name: name}, &secret)).To(Succeed())
	return string(secret.Data["tls.crt"])
}

func caBundle(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	g.Expect(administrator(g).Get(t.Context(), client.ObjectKey{Name: "stepgate"}, &configuration)).To(Succeed())
	return string(configuration.Webhooks[0].ClientConfig.CABundle)
}

// callAllTheTime sends syncs that must be denied, until what it returns is called: that gives their number, and the
// answers that were no denials.
func callAllTheTime(t *testing.T, set *argo.ApplicationSet) func() (int, []error) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	var n int
	var failures []error
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			err := sync(t, set, "prod", client.DryRunAll)
			if n++; err == nil || !strings.Contains(err.Error(), "may not sync yet") {
				failures = append(failures, errors.Join(errors.New("not denied"), err))
			}
		}
	}()
	return func() (int, []error) { close(stop); <-done; return n, failures }
}
