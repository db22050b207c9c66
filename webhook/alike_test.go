// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// newTwins is a watchedWorld with a second Application like prod.
func newTwins() (w *watchedWorld, twin *argo.Application) {
	w = newWatchedWorld()
	twin = w.prod.DeepCopy()
	twin.Name, twin.UID = "prod-2", "prod-2-uid"
	w.Apps = append(w.Apps, twin)
	w.list()
	return w, twin
}

// TestTwinsAreJudgedTogetherOnlyIfTheyAreAlike shows two Applications that differ in one thing that the rule reads: what
// a Preview says of both at once is what it says of each.
func TestTwinsAreJudgedTogetherOnlyIfTheyAreAlike(t *testing.T) {
	outOfSync := func(app *argo.Application) { app.Status.Sync.Status = "OutOfSync" }
	comparedAt := func(commit string, before time.Duration) func(app *argo.Application) {
		return func(app *argo.Application) {
			app.Status.Sync.Revision = scenario.Commit(commit)
			app.Status.ReconciledAt = &metav1.Time{Time: scenario.Noon.Add(-before)}
		}
	}
	both := func(edits ...func(app *argo.Application)) func(app *argo.Application) {
		return func(app *argo.Application) {
			for _, edit := range edits {
				edit(app)
			}
		}
	}
	refresh := func(app *argo.Application) {
		app.Annotations = map[string]string{argo.AnnotationKeyRefresh: string(argo.RefreshTypeNormal)}
	}
	refreshed := func(app *argo.Application) { app.Annotations = nil }
	for name, tc := range map[string]struct {
		pin  settings.Pin
		play func(w *watchedWorld, twin *argo.Application)
		want [2]policy.Reason
	}{
		"they are": {
			play: func(w *watchedWorld, twin *argo.Application) {
				w.at(3*time.Minute, w.dev, degraded)
				w.at(2*time.Minute, w.prod, both(comparedAt("b", 2*time.Minute), outOfSync))
				w.at(time.Minute, twin, both(comparedAt("b", time.Minute), outOfSync))
			}, want: [2]policy.Reason{policy.NotHealthy, policy.NotHealthy},
		},
		"one has a new destination": {
			play: func(w *watchedWorld, twin *argo.Application) {
				w.at(3*time.Minute, w.dev, degraded)
				w.at(2*time.Minute, w.prod, outOfSync)
				w.at(time.Minute, twin, both(outOfSync, func(app *argo.Application) {
					app.Spec.Destination.Namespace = "elsewhere"
					app.Status.Sync.ComparedTo.Destination = app.Spec.Destination
				}))
			}, want: [2]policy.Reason{policy.SelfHeal, policy.NotHealthy},
		},
		"one was Synced with the commit": {
			play: func(w *watchedWorld, twin *argo.Application) {
				w.at(4*time.Minute, w.dev, degraded)
				w.at(3*time.Minute, w.prod, comparedAt("b", 3*time.Minute))
				w.at(2*time.Minute, w.prod, both(comparedAt("b", 2*time.Minute), outOfSync))
				w.at(2*time.Minute, twin, both(comparedAt("b", 2*time.Minute), outOfSync))
			}, want: [2]policy.Reason{policy.SelfHeal, policy.NotHealthy},
		},
		"one was compared before its sibling": {
			play: func(w *watchedWorld, twin *argo.Application) {
				w.at(5*time.Minute, w.prod, both(comparedAt("b", 5*time.Minute), outOfSync))
				w.at(4*time.Minute, w.dev, both(comparedAt("a", 4*time.Minute), refresh))
				w.at(3*time.Minute, w.dev, both(comparedAt("c", 3*time.Minute), refreshed))
				w.at(2*time.Minute, twin, both(comparedAt("b", 5*time.Minute), outOfSync))
			}, want: [2]policy.Reason{policy.NotCompleted, policy.NotCompleted},
		},
		"Argo CD syncs one by itself, which rides": {
			pin: settings.PinCandidate,
			play: func(w *watchedWorld, twin *argo.Application) {
				w.at(9*time.Minute, w.dev, both(comparedAt("b", 9*time.Minute), deployed))
				w.at(8*time.Minute, w.dev, func(app *argo.Application) {
					at := metav1.NewTime(scenario.Noon.Add(-8 * time.Minute))
					app.Status.History = append(argo.RevisionHistories{{
						ID: 1, Revision: scenario.Commit("a"), Source: app.Status.Sync.ComparedTo.Source, DeployedAt: at,
					}}, app.Status.History...)
					app.Status.ReconciledAt = &at
				})
				w.at(7*time.Minute, w.dev, both(comparedAt("c", 7*time.Minute), outOfSync, func(app *argo.Application) {
					app.Operation = &argo.Operation{}
				}))
				w.at(6*time.Minute, w.prod, both(comparedAt("c", 6*time.Minute), outOfSync))
				w.at(6*time.Minute, twin, both(comparedAt("c", 6*time.Minute), outOfSync, func(app *argo.Application) {
					app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
				}))
			}, want: [2]policy.Reason{policy.OperationInProgress, policy.EarlierStepsDone},
		},
		"a text has their names": {
			play: func(w *watchedWorld, twin *argo.Application) {
				other := func(app *argo.Application) {
					app.Spec.Source.RepoURL = "https://git.example.com/other.git"
					app.Status.Sync.ComparedTo.Source = *app.Spec.Source
				}
				w.at(2*time.Hour, w.prod, both(other, comparedAt("b", time.Hour), outOfSync))
				w.at(2*time.Hour, twin, both(other, comparedAt("b", time.Hour), outOfSync))
			}, want: [2]policy.Reason{policy.NotCompleted, policy.NotCompleted},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, twin := newTwins()
			tc.play(w, twin)
			w.clock.SetTime(scenario.Noon)
			config := scenario.Pinning()
			if tc.pin != 0 {
				config.Pin = tc.pin
			}
			known := scenario.Watched{Cluster: w.Cluster}
			preview := NewPreview(config, judge.Dependencies{
				Live: w.Cluster, Known: known, Histories: w.seen, Clock: w.clock,
			}, nil)
			set, _ := known.Set(types.NamespacedName{Namespace: "argocd", Name: "guestbook"})
			together := preview.Outlook(set).ToCome()
			for i, app := range []*argo.Application{w.prod, twin} {
				alone := preview.Outlook(set).Next(argocd.NewProjection(app)).Decision
				g.Expect(alone.Reason).To(Equal(tc.want[i]), alone.Message())
				g.Expect(together[app.Name].Message()).To(Equal(alone.Message()))
				g.Expect(together[app.Name].Decision).To(Equal(alone))
			}
		})
	}
}
