// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/settings"
)

// The handlers and the Releaser together.

var guestbook = types.NamespacedName{Namespace: "argocd", Name: "guestbook"}

// releaser is a Releaser over a cluster that goes by the judgments of a trial, and asks without delay.
func (t *trial) releaser(c *scenario.Cluster) *release.Releaser {
	t.known = scenario.Watched{Cluster: c}
	return release.New(t.judge, scenario.Watched{Cluster: c}, t.blocked, t.requests, func(time.Duration) time.Duration {
		return 0
	})
}

// manyOfStepOne is a cluster in which prod waits for so many Applications of step 1, which are compared with commit b.
func manyOfStepOne(n int, prod string) *scenario.Cluster {
	var line strings.Builder
	for i := range n {
		fmt.Fprintf(&line, "1:app-%03d=Healthy@b ", i)
	}
	return scenario.Of(line.String() + "3:prod=Healthy@" + prod)
}

// TestWhatAWriteRefreshes has 120 stale Applications hold up a write of prod. For the ApplicationSet controller a Releaser
// looks at it in a moment; a user asks again.
func TestWhatAWriteRefreshes(t *testing.T) {
	for user, want := range map[string]int{scenario.ApplicationSetController: 0, "jane": 40} {
		t.Run(user, func(t *testing.T) {
			c := manyOfStepOne(120, "c")
			trial := newTrial(scenario.Releasing(), c)
			a := scenario.SyncOf(c, "prod")
			if a.User = user; a.User != scenario.ApplicationSetController {
				a.After.Operation.InitiatedBy = argo.OperationInitiator{Username: user}
			}
			request := webhook.AdmissionRequest{AdmissionRequest: a.Request()}
			resp := trial.mutator(c).Handle(t.Context(), request)
			if resp.AuditAnnotations["decision"] != "hold" {
				trial.handle(a.Request())
			}
			NewWithT(t).Expect(trial.refreshes.Take()).To(HaveLen(want))
		})
	}
}

// TestAUserWhoNamesRevisionsRefreshesFew refuses syncs of prod to one revision after the other. Each is another reason
// to compare the 300 Applications of step 1 again.
func TestAUserWhoNamesRevisionsRefreshesFew(t *testing.T) {
	for name, tc := range map[string]struct {
		// ran says that an Application has run the revisions.
		ran   bool
		every time.Duration
		want  []int
	}{
		"nobody was compared with them":                 {every: time.Minute, want: []int{0, 0, 0}},
		"one has run them":                              {ran: true, want: []int{40, 0, 0}},
		"one has run them, and the user takes his time": {ran: true, every: time.Minute, want: []int{40, 40, 40}},
	} {
		t.Run(name, func(t *testing.T) {
			c := manyOfStepOne(300, "b")
			trial := newTrial(scenario.Releasing(), c)
			trial.known = scenario.Watched{Cluster: c}
			var got []int
			for _, commit := range []string{"c", "d", "e"} {
				if app := c.Apps[7]; tc.ran {
					app.Status.History = append(app.Status.History, argo.RevisionHistory{
						Revision: scenario.Commit(commit), Source: *app.Spec.Source,
					})
				}
				a := scenario.SyncOf(c, "prod")
				a.User = scenario.ArgoCDServer
				a.After.Operation.InitiatedBy = argo.OperationInitiator{Username: "mallory"}
				a.After.Operation.Sync.Revision = scenario.Commit(commit)
				NewWithT(t).Expect(trial.handle(a.Request()).Allowed).To(BeFalse())
				got = append(got, len(trial.refreshes.Take()))
				trial.clock.Step(tc.every)
			}
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}
}

// closedUntil is a sync window of project default that is closed until a moment, for automated syncs of prod.
type closedUntil struct {
	opens time.Time
}

func (w closedUntil) Window(project string, app argocd.WindowSubject, automated bool, now time.Time) policy.Window {
	if project != "default" || app.Name != "prod" || app.Namespace != "prod" || app.Server == "" || !automated ||
		!now.Before(w.opens) {
		return policy.Window{}
	}
	return policy.Window{Closed: true, OpensAt: w.opens, Detail: "deny window"}
}

// TestASyncWindowThatOpens releases what waits, in whatever step, and lets nothing through before. Syncs by hand have a
// window of their own.
func TestASyncWindowThatOpens(t *testing.T) {
	for _, step := range []string{"1", "3"} {
		t.Run("step "+step, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
			c.Apps[2].Labels["step"] = step
			scenario.Pending(c, "prod")
			trial := newTrial(scenario.Releasing(), c)
			trial.judge.Windows = closedUntil{scenario.Noon.Add(time.Minute)}
			r := trial.releaser(c)
			write := scenario.SyncOf(c, "prod")
			held := trial.mutator(c).Handle(t.Context(),
				webhook.AdmissionRequest{AdmissionRequest: write.Request()})
			g.Expect(held.AuditAnnotations).To(HaveKeyWithValue("reason", "WindowClosed"))
			write.After.Operation.InitiatedBy = argo.OperationInitiator{Username: "bob"}
			g.Expect(trial.handle(write.Request()).Allowed).To(BeTrue(), "by hand")

			g.Expect(r.Reconcile(guestbook)).To(Equal(time.Minute))
			g.Expect(trial.refreshes.Take()).To(BeEmpty())
			trial.clock.Step(time.Minute)
			r.Reconcile(guestbook)
			g.Expect(trial.refreshes.Take()).To(Equal([]string{prodsTurn("11:59:00")}))
		})
	}
}

// TestWhoWaitsForAConditionIsNotBlocked for the alert, but is counted.
func TestWhoWaitsForAConditionIsNotBlocked(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(c, "prod")
	trial := newTrial(scenario.Releasing(), c)
	r := trial.releaser(c)
	since := func() float64 {
		return trial.counted("stepgate_applicationset_blocked_since_timestamp_seconds", "")
	}
	waiting := func() float64 { return trial.counted("stepgate_condition_waiting_applications", "Paused") }

	c.Sets[0].Annotations = map[string]string{settings.PauseAnnotation: "3"}
	r.Reconcile(guestbook)
	g.Expect(since()).To(BeZero())
	g.Expect(waiting()).To(Equal(1.0))

	trial.clock.Step(time.Minute)
	c.Sets[0].Annotations = nil
	c.Apps[0].Status.Health.Status = "Degraded"
	r.Reconcile(guestbook)
	g.Expect(since()).To(Equal(float64(trial.clock.Now().Unix())), "since the pause ended")
	g.Expect(waiting()).To(BeZero())
}

// TestAStepThatWasLeftIsLookedAtAgain lets the ApplicationSet give prod the label of step 1 while dev is Degraded, and
// nothing else happen. Its status records no step.
func TestAStepThatWasLeftIsLookedAtAgain(t *testing.T) {
	g := NewWithT(t)
	w := newWatchedWorld()
	w.seen.KeepSteps(&argocd.NewApplicationSet(w.Sets[0]).ApplicationSet)
	w.at(time.Minute, w.dev, degraded)
	w.at(30*time.Second, w.prod, func(app *argo.Application) {
		committed(app)
		app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
	})
	w.at(0, w.prod, func(app *argo.Application) { app.Labels = map[string]string{"step": "1"} })
	trial := newTrial(scenario.Releasing(), w.Cluster)
	trial.judge.Histories = w.seen
	r := trial.releaser(w.Cluster)
	again := r.Reconcile(guestbook)
	g.Expect(again).To(BeNumerically("<=", policy.SettlingTime))
	g.Expect(trial.refreshes.Take()).To(BeEmpty(), "it counts as in step 3")
	trial.clock.Step(again)
	w.clock.SetTime(trial.clock.Now())
	r.Reconcile(guestbook)
	g.Expect(trial.refreshes.Take()).To(Equal([]string{prodsTurn("11:59:59")}))
}

// prodsTurn is the request of a refresh of prod that has its turn, and was compared at a time.
func prodsTurn(comparedAt string) string {
	return "argocd/prod its turn has come: " + scenario.Commit("b") + " at " + comparedAt
}
