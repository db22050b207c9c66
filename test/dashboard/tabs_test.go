// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
)

// fetches counts what the tab asks from now on.
const fetches = `(() => { const was = fetch; window.fetches = 0; window.fetch = (...all) => { window.fetches++; return was(...all) } })()`

// hide has the tab believe that nobody, or somebody, sees it.
func (b *board) hide(hidden bool) {
	b.t.Helper()
	b.Evaluate(fmt.Sprintf("(() => { window.hiddenNow = %t", hidden)+
		`; Object.defineProperty(document, "hidden", { configurable: true, get: () => window.hiddenNow });`+
		` document.dispatchEvent(new Event("visibilitychange")) })()`, nil)
}

// TestTabsAndRestarts: the address is needed once in a browser. Pasted links, ten tabs and a new start of the program work
// without it, and a hidden tab asks nothing.
func TestTabsAndRestarts(t *testing.T) {
	write(t, "tabs", mixed())
	gated(t, "tabs")
	kubeconfig, err := shared.AdminKubeconfig()
	b := &board{WithT: NewWithT(t), t: t, namespace: "tabs"}
	b.Expect(err).NotTo(HaveOccurred())
	flags := []string{"--kubeconfig", kubeconfig, "-n", "tabs", "--as", cluster.Human}
	address, end := browser.DashboardUntil(t, shared.Binary, flags...)
	b.address, b.Browser = address, browser.Start(t)
	b.open(desk, "")
	at, err := url.Parse(b.address)
	b.Expect(err).NotTo(HaveOccurred())
	base := "http://" + at.Host + "/"
	key, err := os.Stat(filepath.Join(filepath.Dir(shared.Binary), "cache", "stepgate", "dashboard.key"))
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(key.Mode()).To(BeEquivalentTo(0o600))

	for range 9 {
		b.Another(base + "#/tabs/guestbook")
	}
	b.SeesEverywhere("text=guestbook")
	b.Sees(".sg-tile-running [data-tile='qa-us']")

	b.Another(base + "#/tabs/guestbook?open=prod-eu&filter=prod")
	b.Sees("[role=dialog] >> text=is held now")
	b.Press("Escape")
	var hash string
	b.Evaluate("location.hash", &hash)
	b.Expect(hash).To(Equal("#/tabs/guestbook?filter=prod"))
	b.Fill("input[type=search]", "")

	var asked int
	b.Evaluate(fetches, nil)
	b.hide(true)
	change := func(health argo.ApplicationStatus) {
		edit(t, "tabs", "qa-us", func(app *argo.Application) {
			app.Status.Health = health.Health
			app.Status.ReconciledAt = &metav1.Time{Time: metav1.Now().Time}
		})
	}
	change(argo.ApplicationStatus{Health: argo.AppHealthStatus{Status: "Degraded"}})
	b.Evaluate("new Promise(done => setTimeout(() => done(window.fetches), 3000))", &asked)
	b.Expect(asked).To(BeNumerically("<=", 1), "one may have been on its way")
	b.hide(false)
	b.Sees(".sg-tile-failed [data-tile='qa-us']")

	end()
	b.Sees(".sg-banner >> text=stepgate dashboard does not answer")
	_, _ = browser.DashboardUntil(t, shared.Binary, append(flags, "--port", at.Port())...)
	b.Eventually(func() int { return b.Count(".sg-banner") }).Should(BeZero())
	change(argo.ApplicationStatus{Health: argo.AppHealthStatus{Status: "Healthy"}})
	b.Eventually(func() int { return b.Count(".sg-tile-failed [data-tile='qa-us']") }).Should(BeZero())
	b.Expect(strings.Contains(b.Text("main"), "no key")).To(BeFalse())
}
