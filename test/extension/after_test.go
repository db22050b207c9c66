// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// followers writes an ApplicationSet without steps that comes after the guestbook, shop with shop-eu, and an Application
// of no ApplicationSet that does, mail. They are gone after the test.
func followers(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	after := map[string]string{settings.AfterAnnotation: "guestbook"}
	create := func(object client.Object) {
		g.Expect(shared.Admin.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { g.Expect(shared.Admin.Delete(context.Background(), object)).To(Succeed()) })
	}
	shop := guestbook.Set(cluster.ArgoNamespace)
	shop.Name, shop.Annotations, shop.Spec.Strategy = "shop", after, nil
	create(shop)
	shop.Status.Resources = []argo.ResourceStatus{{Name: "shop-eu"}}
	g.Expect(shared.Admin.Status().Update(t.Context(), shop)).To(Succeed())
	for name, alone := range map[string]bool{"shop-eu": false, "mail": true} {
		app := guestbook.Application(shop, "prod")
		app.Name = name
		if alone {
			app.OwnerReferences, app.Annotations = nil, after
		}
		guestbook.Compare(app, time.Now(), guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, "Healthy")
		create(app)
	}
}

// waits is what both wait for.
const waits = "waits for engineering-prod-guestbook and 2 more"

// TestWhatComesAfterThroughArgoCD has no steps, and waits for the guestbook.
func TestWhatComesAfterThroughArgoCD(t *testing.T) {
	followers(t)
	for app, shown := range map[string]string{"shop-eu": "shop", "mail": "mail"} {
		g := NewWithT(t)
		var s extension.Status
		g.Eventually(func(g Gomega) {
			code, text := do(t, "viewer", server.URL+"/extensions/stepgate/api/v1/status", of(app, "default"))
			g.Expect(code).To(Equal(200), text)
			g.Expect(json.Unmarshal([]byte(text), &s)).To(Succeed())
			g.Expect(s.Said).NotTo(BeNil())
		}).Should(Succeed())
		g.Expect(s.Rollout.Name).To(Equal(shown))
		g.Expect(s.Said.Text).To(Equal(waits))
		code, text := do(t, "viewer", server.URL+"/extensions/stepgate/api/v1/explanation", of(app, "default"))
		g.Expect(code).To(Equal(200), text)
		var x dashboard.Explained
		g.Expect(json.Unmarshal([]byte(text), &x)).To(Succeed())
		g.Expect(x.Explanation.Reason).To(Equal("DependencyNotDone"))
	}
}

// TestInABrowserWhatComesAfter is on the page of all rollouts, and has an item.
func TestInABrowserWhatComesAfter(t *testing.T) {
	followers(t)
	commands := map[string]string{"shop-eu": "stepgate get shop", "mail": "stepgate explain mail"}
	for app, said := range map[string]string{"shop-eu": "argocd/shop", "mail": "argocd/mail"} {
		t.Run(app, func(t *testing.T) {
			v := &view{Browser: browser.Start(t), WithT: *NewWithT(t)}
			v.Open(browser.Tab{URL: host(t, "19", "viewer") + "/stepgate?view=page&theme=light", Width: 1280, Height: 400})
			v.Sees(`th a[href$="` + said + `"]`)
			v.Sees(`tr:has(a[href$="` + said + `"]) >> text=engineering-dev-guestbook (NotHealthy: Progressing)`)
			v.inOrder()
			v.Click(`th a[href$="` + said + `"]`)
			v.Sees("text=Comes after")
			v.Sees("text=" + commands[app] + " -n argocd")
			v.inOrder()
			v.Open(browser.Tab{URL: host(t, "19", "viewer") + "/?view=item&theme=light&app=" + app, Width: 1280, Height: 400})
			v.Sees("text=After others")
			v.Sees("text=" + waits)
			v.Click("text=After others")
			v.Sees("text=What it waits for, in the order in which to act")
			v.inOrder()
		})
	}
}
