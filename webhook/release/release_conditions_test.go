// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

var prodReleased = "argocd/prod its turn has come: " + scenario.Commit("b") + " at 11:59:00"

// TestWhatSoaksIsReleasedAtTheMoment by this replica, and by one that starts at that moment or later.
func TestWhatSoaksIsReleasedAtTheMoment(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	c.Sets[0].Annotations = map[string]string{settings.SoakAnnotation: "2m"}
	c.Apps[0].Status.Health.LastTransitionTime = ptr.To(metav1.NewTime(scenario.Noon.Add(-time.Minute)))
	g.Expect(r.Reconcile(guestbook)).To(Equal(61*time.Second), "a second is added, for Argo CD cuts its times")
	g.Expect(r.refreshes.Take()).To(BeEmpty())

	r.clock.SetTime(scenario.Noon.Add(61 * time.Second))
	again := r.Reconcile(guestbook)
	g.Expect(again).To(Equal(jitter))
	late := newReleasing(scenario.Releasing(), c)
	for _, replica := range []*releasing{r, late} {
		replica.clock.SetTime(scenario.Noon.Add(61 * time.Second))
		replica.Reconcile(guestbook)
		replica.clock.Step(jitter)
		replica.Reconcile(guestbook)
		g.Expect(replica.refreshes.Take()).To(Equal([]string{prodReleased}))
	}

	c.Apps[0].Status.Health.LastTransitionTime = ptr.To(metav1.NewTime(scenario.Noon.Add(time.Minute)))
	g.Expect(r.Reconcile(guestbook)).To(Equal(2*time.Minute-jitter), "it starts again when one degrades")
}

// TestThePausedFirstStepIsReleased although a step that waits for nothing is never released otherwise.
func TestThePausedFirstStepIsReleased(t *testing.T) {
	for name, tc := range map[string]struct {
		// restarted says that another replica sees it only after the pause.
		restarted bool
		auto      bool
		want      time.Duration
	}{
		"by the replica that knows":       {want: jitter},
		"by one that has just started":    {restarted: true, want: overdueAfter + jitter},
		"auto-sync":                       {auto: true, want: jitter},
		"auto-sync, and one just started": {auto: true, restarted: true, want: overdueAfter + jitter},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:prod=Healthy@b")
			c.Sets[0].Annotations = map[string]string{settings.PauseAnnotation: "all"}
			if tc.auto {
				c.Apps[0].Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
				c.Apps[0].Status.Sync.Status, c.Apps[0].Status.ReconciledAt = "OutOfSync", ptr.To(metav1.NewTime(scenario.Noon))
			} else {
				scenario.Pending(c, "prod")
				c.Sets[0].Status.ApplicationStatus[0].LastTransitionTime = ptr.To(metav1.NewTime(scenario.Noon))
			}
			r := newReleasing(scenario.Releasing(), c)
			g.Expect(r.Reconcile(guestbook)).To(Equal(reconcileEvery))
			if tc.restarted {
				r = newReleasing(scenario.Releasing(), c)
			}
			c.Sets[0].Annotations = nil
			at := r.until(time.Minute)
			g.Expect(at).NotTo(BeEmpty())
			g.Expect(at[0]).To(Equal(tc.want))
		})
	}
}

// TestWhatSoaksIsComparedAfterItsSync on a train, so that its completion is known before the next commit lands.
func TestWhatSoaksIsComparedAfterItsSync(t *testing.T) {
	for name, tc := range map[string]struct {
		pin settings.Pin
		// compared is how long after the end of its sync, and soaked how long it is Healthy; less than nothing where the
		// clock of its controller is ahead.
		compared, soaked time.Duration
		want             []string
	}{
		"in that second": {
			settings.PinCandidate, 0, time.Minute, []string{"argocd/dev " + notProven + " at 11:59:00 at 11:59:00"},
		},
		"later":         {settings.PinCandidate, time.Second, time.Minute, nil},
		"on no train":   {settings.PinCompared, 0, time.Minute, nil},
		"it has soaked": {settings.PinCandidate, 0, time.Hour, []string{prodReleased}},
		"by a clock that is ahead": {
			settings.PinCandidate, 0, -time.Minute, []string{"argocd/dev " + notProven + " at 12:01:00 at 12:01:00"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, _ := prodMayStart()
			c.Sets[0].Annotations = map[string]string{settings.SoakAnnotation: "2m"}
			dev := c.Apps[0]
			ended := metav1.NewTime(scenario.Noon.Add(-tc.soaked))
			dev.Status.Health.LastTransitionTime = &ended
			dev.Status.OperationState = &argo.OperationState{
				Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, StartedAt: ended, FinishedAt: &ended,
				SyncResult: &argo.SyncOperationResult{Revision: dev.Status.Sync.Revision, Source: dev.Spec.GetSource()},
			}
			dev.Status.ReconciledAt = ptr.To(metav1.NewTime(ended.Add(tc.compared)))
			config := scenario.Releasing()
			config.Pin, config.Start = tc.pin, true
			r := newReleasing(config, c)
			r.Reconcile(guestbook)
			r.clock.Step(comparedAfter + jitter)
			r.Reconcile(guestbook)
			g.Expect(r.refreshes.Take()).To(Equal(tc.want))
		})
	}
}
