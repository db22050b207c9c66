package webhook

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

const prodReleased = "argocd/prod its turn has come at 11:59:00"

// TestWhatSoaksIsReleasedAtTheMoment by this replica, and by one that starts at that moment or later.
func TestWhatSoaksIsReleasedAtTheMoment(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	c.sets[0].Annotations = map[string]string{settings.SoakAnnotation: "2m"}
	c.apps[0].Status.Health.LastTransitionTime = ptr.To(metav1.NewTime(noon.Add(-time.Minute)))
	g.Expect(r.Review(guestbook)).To(Equal(61*time.Second), "a second is added, for Argo CD cuts its times")
	g.Expect(r.asked()).To(BeEmpty())

	r.now = noon.Add(61 * time.Second)
	again := r.Review(guestbook)
	g.Expect(again).To(Equal(jitter))
	late := newReleasing(releaseConfig(), c)
	for _, replica := range []*releasing{r, late} {
		replica.now = noon.Add(61 * time.Second)
		replica.Review(guestbook)
		replica.now = replica.now.Add(jitter)
		replica.Review(guestbook)
		g.Expect(replica.asked()).To(Equal([]string{prodReleased}))
	}

	c.apps[0].Status.Health.LastTransitionTime = ptr.To(metav1.NewTime(noon.Add(time.Minute)))
	g.Expect(r.Review(guestbook)).To(Equal(2*time.Minute-jitter), "it starts again when one degrades")
}

// closedUntil is a sync window of project default that is closed until a moment, for automated syncs of prod.
type closedUntil struct {
	opens time.Time
}

func (w closedUntil) Window(project string, app argocd.WindowSubject, automated bool, now time.Time) policy.Window {
	if project != "default" || app.Name != "prod" || app.Namespace != "prod" || app.Server == "" || !automated || !now.Before(w.opens) {
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
			c := clusterOf("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
			c.apps[2].Labels["step"] = step
			pending(c, "prod")
			r := newReleasing(releaseConfig(), c)
			r.trial.judge.Windows = closedUntil{noon.Add(time.Minute)}
			write := syncOf(c, "prod")
			held := NewMutator(r.trial.gate, watchedCluster{c}).Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: write.request()})
			g.Expect(held.AuditAnnotations).To(HaveKeyWithValue("reason", "WindowClosed"))
			write.after.Operation.InitiatedBy = argo.OperationInitiator{Username: "bob"}
			g.Expect(r.trial.handle(write.request()).Allowed).To(BeTrue(), "by hand")

			g.Expect(r.Review(guestbook)).To(Equal(time.Minute))
			r.now = noon.Add(time.Minute)
			r.Review(guestbook)
			r.now = r.now.Add(jitter)
			r.Review(guestbook)
			g.Expect(r.asked()).To(Equal([]string{prodReleased}))
		})
	}
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
			c := clusterOf("1:prod=Healthy@b")
			c.sets[0].Annotations = map[string]string{settings.PauseAnnotation: "all"}
			if tc.auto {
				c.apps[0].Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
				c.apps[0].Status.Sync.Status, c.apps[0].Status.ReconciledAt = "OutOfSync", ptr.To(metav1.NewTime(noon))
			} else {
				pending(c, "prod")
				c.sets[0].Status.ApplicationStatus[0].LastTransitionTime = ptr.To(metav1.NewTime(noon))
			}
			r := newReleasing(releaseConfig(), c)
			g.Expect(r.Review(guestbook)).To(Equal(reviewEvery))
			if tc.restarted {
				r = newReleasing(releaseConfig(), c)
			}
			c.sets[0].Annotations = nil
			at := r.until(time.Minute)
			g.Expect(at).NotTo(BeEmpty())
			g.Expect(at[0]).To(Equal(tc.want))
		})
	}
}

// TestWhoWaitsForAConditionIsNotBlocked for the alert, but is counted.
func TestWhoWaitsForAConditionIsNotBlocked(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	r.trial.known = watchedCluster{c}
	since := func() float64 { return r.trial.counted("stepgate_applicationset_blocked_since_timestamp_seconds", "") }
	waiting := func() float64 { return r.trial.counted("stepgate_condition_waiting_applications", "Paused") }

	c.sets[0].Annotations = map[string]string{settings.PauseAnnotation: "3"}
	r.Review(guestbook)
	g.Expect(since()).To(BeZero())
	g.Expect(waiting()).To(Equal(1.0))

	r.now = noon.Add(time.Minute)
	c.sets[0].Annotations = nil
	c.apps[0].Status.Health.Status = "Degraded"
	r.Review(guestbook)
	g.Expect(since()).To(Equal(float64(r.now.Unix())), "since the pause ended")
	g.Expect(waiting()).To(BeZero())
}
