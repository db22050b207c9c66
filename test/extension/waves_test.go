// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestInABrowserAParentWithWaves is on the page of all rollouts, with its children in their waves, and an ApplicationSet
// that it has yet to create. Each child has an item.
func TestInABrowserAParentWithWaves(t *testing.T) {
	g := NewWithT(t)
	for name, wave := range map[string]string{"platform": "", "base": "-1", "web": "20"} {
		app := guestbook.Application(guestbook.Set(cluster.ArgoNamespace), "prod")
		app.Name, app.OwnerReferences = name, nil
		guestbook.Compare(app, time.Now(), guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, "Healthy")
		if app.Annotations = map[string]string{settings.WavesAnnotation: "true"}; wave != "" {
			app.Annotations = map[string]string{
				"argocd.argoproj.io/tracking-id": "platform:argoproj.io/Application:argocd/" + name,
				"argocd.argoproj.io/sync-wave":   wave,
			}
		} else {
			app.Status.Resources = []argo.ResourceStatus{{
				Group: "argoproj.io", Kind: "ApplicationSet", Namespace: app.Namespace, Name: "addons", SyncWave: 5,
				Status: argo.SyncStatusCodeOutOfSync,
			}}
		}
		g.Expect(shared.Admin.Create(t.Context(), app)).To(Succeed())
		t.Cleanup(func() { g.Expect(shared.Admin.Delete(context.Background(), app)).To(Succeed()) })
	}
	v := &view{Browser: browser.Start(t), WithT: *g}
	v.Open(browser.Tab{URL: host(t, "19", "viewer") + "/stepgate?view=page&theme=light", Width: 1280, Height: 700})
	const link = `th a[href$="waves%2Fplatform"]`
	v.Sees(link)
	v.Sees(`tr:has(a[href$="waves%2Fplatform"]) >> text=wave -1 (1/3)`)
	v.inOrder()
	v.Click(link)
	v.Sees("text=stepgate get waves/platform -n argocd")
	v.Sees("text=Wave 20")
	v.Expect(v.Count("text=Pause…")).To(BeZero(), "Argo CD's UI pauses no parent")
	v.inOrder()
	v.Click(`[data-tile="applicationset:addons"]`)
	v.Sees("text=it does not exist yet")
	v.Expect(v.Count("text=Open it in Argo CD")).To(BeZero(), "it is no Application")
	v.inOrder()
	v.Open(browser.Tab{URL: host(t, "19", "viewer") + "/?view=item&theme=light&app=web", Width: 1280, Height: 400})
	v.Sees("text=Wave 20 (3 of 3)")
	v.inOrder()
}
