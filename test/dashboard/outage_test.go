// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/webhook/settings"
)

func inNamespace(namespace string) client.DeleteAllOfOption { return client.InNamespace(namespace) }

// TestTheClusterGoesAway and comes back: the page says so meanwhile, keeps what it has, and goes on.
func TestTheClusterGoesAway(t *testing.T) {
	write(t, "outage", mixed())
	b := serve(t, "outage", cluster.Human)
	b.open(desk, "guestbook")
	b.Expect(b.Count(".sg-banner")).To(Equal(0))
	outage, err := shared.Kill()
	b.Expect(err).NotTo(HaveOccurred())
	b.Sees(".sg-banner >> text=the API server does not answer")
	b.Expect(b.Count("[data-tile]")).To(Equal(7))
	b.Expect(b.Accessibility()).To(BeEmpty())
	b.Expect(outage.End(t.Context())).To(Succeed())
	b.Eventually(func() int { return b.Count(".sg-banner") }).Should(Equal(0))
	edit(t, "outage", "qa-us", func(app *argo.Application) {
		app.Status.Health.Status = "Degraded"
		app.Status.ReconciledAt = &metav1.Time{Time: time.Now()}
	})
	b.Sees(".sg-tile-failed [data-tile='qa-us']")
}

// login creates an account, and writes its token to a file as a plugin of kubectl prints it. It returns a kubeconfig
// with such a plugin.
func login(t *testing.T, account *corev1.ServiceAccount, file string) (kubeconfig string) {
	t.Helper()
	g := NewWithT(t)
	account.ResourceVersion, account.UID = "", ""
	g.Expect(shared.Admin.Create(t.Context(), account)).To(Succeed())
	kubeconfig, err := shared.Kubeconfig(t.Context(), account.Namespace, account.Name, "")
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.LoadFromFile(kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	text, err := json.Marshal(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
		"status": map[string]string{"token": config.AuthInfos["test"].Token},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "cat", Args: []string{file},
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}}
	g.Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())
	return kubeconfig
}

// TestTheLoginExpires: the page says so, keeps what it has, and goes on when the user has logged in again.
func TestTheLoginExpires(t *testing.T) {
	write(t, "expired", mixed())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "expired", Name: "jane"}}
	mayRead(t, "expired", "system:serviceaccount:expired:jane")
	file := filepath.Join(t.TempDir(), "credential.json")
	b := &board{WithT: NewWithT(t), t: t, namespace: "expired"}
	b.address = browser.Dashboard(t, shared.Binary, "--kubeconfig", login(t, account, file), "-n", "expired")
	b.Browser = browser.Start(t)
	b.open(desk, "guestbook")
	b.Expect(b.Count(".sg-banner")).To(Equal(0))
	b.Expect(shared.Admin.Delete(t.Context(), account)).To(Succeed())
	b.Sees(".sg-banner >> text=log in to the cluster again")
	b.Expect(b.Count("[data-tile]")).To(Equal(7))
	login(t, account, file)
	b.Eventually(func() int { return b.Count(".sg-banner") }).Should(Equal(0))
	edit(t, "expired", "qa-us", func(app *argo.Application) {
		app.Status.Health.Status = "Degraded"
		app.Status.ReconciledAt = &metav1.Time{Time: time.Now()}
	})
	b.Sees(".sg-tile-failed [data-tile='qa-us']")
}

// TestAnApplicationAlone comes after others: it is in the list, and has a page, where nothing can be paused.
func TestAnApplicationAlone(t *testing.T) {
	made := mixed()
	write(t, "alone", made)
	mail := made.Apps[6].DeepCopy()
	mail.ObjectMeta = metav1.ObjectMeta{
		Namespace: "alone", Name: "mail", Annotations: map[string]string{settings.AfterAnnotation: "guestbook"},
	}
	b := serve(t, "alone", cluster.Human)
	b.Expect(shared.Admin.Create(t.Context(), mail)).To(Succeed())
	b.open(desk, "")
	b.Sees("tbody tr:has-text('mail') >> text=qa-eu (NotHealthy: Degraded)")
	b.wellFormed()
	b.Click("tbody tr a:has-text('mail')")
	b.Sees("h1:has-text('mail')")
	b.Sees("text=Comes after")
	b.Expect(b.Count("button:has-text('Pause')")).To(Equal(0))
	b.wellFormed()
}

// TestWithoutSteps: an ApplicationSet without steps is no rollout, and its page says so.
func TestWithoutSteps(t *testing.T) {
	plain := mixed()
	plain.Sets[0].Spec.Strategy = nil
	write(t, "plain", plain)
	b := serve(t, "plain", cluster.Human)
	b.open(desk, "guestbook")
	b.Sees("text=This ApplicationSet has no steps, so there is no order to keep.")
	b.wellFormed()
	b.open(desk, "")
	b.Sees("text=Nothing with steps, or that comes after others, is here.")
	b.wellFormed()
}
