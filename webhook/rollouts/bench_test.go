// SPDX-License-Identifier: Apache-2.0

package rollouts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/rollouts"
)

// projected is a cluster whose Applications are projected once, as in a cache.
type projected struct {
	scenario.Watched
	all    []*argocd.Projection
	byName map[string]*argocd.Projection
}

// Owned is judge.KnownSets.
func (p projected) Owned(types.UID) []*argocd.Projection { return p.all }

// Application is judge.KnownSets.
func (p projected) Application(name types.NamespacedName) *argocd.Projection {
	return p.byName[name.Name]
}

// BenchmarkNext adds to the log of an ApplicationSet of 5,000 Applications in the middle of a rollout: a replica does so
// every five seconds at most.
func BenchmarkNext(b *testing.B) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "%d:app-%d=Healthy ", 1+i*3/5000, i)
	}
	c := scenario.Of(text.String())
	for i, app := range c.Apps {
		if i > 2000 {
			app.Status.Sync.Status, app.Status.Sync.Revision = "OutOfSync", scenario.Commit("b")
		}
	}
	at := &clock{scenario.Noon.Add(-time.Hour)}
	j := judge.New(scenario.Config(), judge.Dependencies{Histories: &scenario.Watch{}, Clock: at})
	known := projected{
		scenario.Watched{Cluster: c}, scenario.Watched{Cluster: c}.Owned("guestbook-uid"), map[string]*argocd.Projection{},
	}
	for _, p := range known.all {
		known.byName[p.Name] = p
	}
	chronicler, set := rollouts.NewChronicler(j, known, &heard{}), argocd.NewApplicationSet(c.Sets[0])
	log, _, err := chronicler.Next(set, nil)
	if err != nil {
		b.Fatal(err)
	}
	at.at = scenario.Noon
	b.ReportAllocs()
	for b.Loop() {
		if log, _, err = chronicler.Next(set, log); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(log)), "bytes")
}
