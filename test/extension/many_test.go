// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
)

// many writes a rollout of n Applications, with names of every character that Kubernetes permits, and returns the one
// of step 1.
func many(t *testing.T, name string, n int) *argo.Application {
	t.Helper()
	g := NewWithT(t)
	set := guestbook.Set(cluster.ArgoNamespace)
	set.Name = name
	g.Expect(shared.Admin.Create(t.Context(), set)).To(Succeed())
	var first *argo.Application
	for i := range n {
		env, state := "dev", health.HealthStatusHealthy
		if i > 0 {
			env = []string{"qa", "prod"}[i%2]
			state = []health.HealthStatusCode{"Healthy", "Progressing", "Degraded"}[i%3]
		}
		app := guestbook.Application(set, env)
		app.Name = fmt.Sprintf("a-%d.z%s-%04d", n, strings.Repeat("x", i%60), i)
		guestbook.Compare(app, time.Now(), guestbook.NewCommit, argo.SyncStatusCodeSynced, state)
		g.Expect(shared.Admin.Create(t.Context(), app)).To(Succeed())
		if first == nil {
			first = app
		}
		set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: app.Name, Step: "1", Status: argo.ProgressiveSyncWaiting, TargetRevisions: []string{guestbook.NewCommit},
		})
	}
	g.Expect(shared.Admin.Status().Update(t.Context(), set)).To(Succeed())
	return first
}

// TestManyApplications opens the tab of an ApplicationSet with 300 and with 1,000 Applications, with the React of Argo
// CD 3.5.
func TestManyApplications(t *testing.T) {
	record := browser.NewRecord(t, results, "The extension of Argo CD's UI")
	for _, n := range []int{300, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			name := fmt.Sprintf("many-%d", n)
			dev := many(t, name, n)
			b := browser.Start(t)
			g := NewWithT(t)
			address := host(t, "19", "viewer") + "/?view=tab&theme=light&set=" + name
			began := time.Now()
			b.Open(browser.Tab{URL: address, Width: 1280, Height: 900})
			b.Sees("text=Show all")
			for b.Count("text=Show all") > 0 {
				b.Click("text=Show all")
			}
			g.Expect(b.Count("[data-tile]")).To(Equal(n))
			opened := time.Since(began)
			g.Expect(b.Accessibility()).To(BeEmpty())
			tile := "[data-tile='" + dev.Name + "']"
			g.Expect(b.Count(".sg-tile-done " + tile)).To(Equal(1))
			record.Add(n, opened, b.LongestFrame(func() {
				before := dev.DeepCopy()
				guestbook.Compare(dev, time.Now(), guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusDegraded)
				g.Expect(shared.Admin.Patch(t.Context(), dev, client.MergeFrom(before))).To(Succeed())
				b.Sees(".sg-tile-failed " + tile)
			}))
			g.Expect(b.Complaints()).To(BeEmpty())
		})
	}
}
