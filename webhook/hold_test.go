package webhook

import (
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
)

// TestWhatPeopleSeeOfAHeldSync holds prod until dev is healthy, and then lets it go.
func TestWhatPeopleSeeOfAHeldSync(t *testing.T) {
	g := NewWithT(t)
	c := clusterOf("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	c.apps[0].Status.Health.Status = health.HealthStatusProgressing
	trial := newTrial(releaseConfig(), c)
	now := noon
	trial.clock = func() time.Time { return now }

	trial.known = watchedCluster{c}
	mutator := NewMutator(trial.gate, watchedCluster{c})
	write := func() webhook.AdmissionResponse {
		return mutator.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: syncOf(c, "prod").request()})
	}

	resp := write()
	g.Expect(resp.AuditAnnotations).To(Equal(map[string]string{
		"decision": "hold", "reason": "NotHealthy", "mode": "enforce", "applicationset": "argocd/guestbook", "step": "3", "blockers": "dev=NotHealthy",
	}))
	events := trial.posted()
	g.Expect(events).To(HaveLen(1))
	g.Expect(events[0].Type + " " + events[0].Reason + ": " + events[0].Note).To(Equal(
		"Normal SyncHeld: step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev (NotHealthy: Progressing). Next: wait until dev is Healthy, or repair it. The sync then starts by itself"))
	write()
	g.Expect(trial.posted()).To(BeEmpty(), "one Event for one reason")
	g.Expect(trial.counted("stepgate_decisions_total", "hold")).To(Equal(2.0))
	g.Expect(trial.counted("stepgate_operations_changed_total", "held")).To(Equal(2.0))
	g.Expect(trial.counted("stepgate_applicationset_blocked_since_timestamp_seconds", "")).To(Equal(float64(noon.Unix())))

	now = now.Add(72 * time.Second)
	c.apps[0].Status.Health.Status = health.HealthStatusHealthy
	g.Expect(write().AuditAnnotations).To(HaveKey("pinned"))
	allowed := syncOf(c, "prod")
	allowed.after.Operation.Sync.Revision, allowed.after.Operation.Sync.Source = commit("b"), allowed.after.Spec.Source
	g.Expect(trial.handle(allowed.request()).Allowed).To(BeTrue())
	events = trial.posted()
	g.Expect(events).To(HaveLen(1))
	g.Expect(events[0].Type + " " + events[0].Reason + ": " + events[0].Note).To(Equal(
		"Normal SyncReleased: step 3 of ApplicationSet argocd/guestbook may sync now: it has waited for 1m12s, last for dev (NotHealthy: Progressing)"))
	g.Expect(trial.handle(allowed.request()).Allowed).To(BeTrue())
	g.Expect(trial.posted()).To(BeEmpty(), "it is told once")
}

// TestAHeldRepetition leaves the ApplicationSet controller the time to notice the sync: a refresh would hold up the
// next step.
func TestAHeldRepetition(t *testing.T) {
	g := NewWithT(t)
	c := clusterOf("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	c.sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Application: "prod", Step: "3", Status: "Progressing"}}
	trial := newTrial(releaseConfig(), c)
	a := syncOf(c, "prod")
	a.before.Status.OperationState = &argo.OperationState{Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, StartedAt: metav1.NewTime(noon)}
	resp := NewMutator(trial.gate, watchedCluster{c}).Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: a.request()})
	g.Expect(resp.AuditAnnotations).To(And(HaveKeyWithValue("decision", "hold"), HaveKeyWithValue("reason", "AlreadySynced")))
	g.Expect(trial.refreshes.asked).To(BeEmpty())
}

// TestEachRepetitionIsAnother has two syncs be repeated: the refreshes for the one must not use up those for the other.
func TestEachRepetitionIsAnother(t *testing.T) {
	g := NewWithT(t)
	why := func(started time.Time) string {
		all := comparisons(policy.Decision{Reason: policy.AlreadySynced}, &policy.Target{SyncStartedAt: started})
		g.Expect(all).To(HaveLen(1))
		return all[0].why
	}
	g.Expect(why(noon)).To(Equal(why(noon)))
	g.Expect(why(noon)).NotTo(Equal(why(noon.Add(time.Second))))
}

// TestAWriteIsJudgedOnce has both webhooks called for a write: only the first one reads.
func TestAWriteIsJudgedOnce(t *testing.T) {
	const open = "1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b"
	pinned := func(c *cluster) *attempt {
		a := syncOf(c, "prod")
		a.after.Operation.Sync.Revision, a.after.Operation.Sync.Source = commit("b"), a.after.Spec.Source
		return a
	}
	for name, tc := range map[string]struct {
		scenario string
		between  func(*cluster, *attempt)
		want     int
		allowed  bool
	}{
		"it is held":                                {scenario: "1:dev=Degraded@b 3:prod=Healthy@b", want: 4},
		"it passes":                                 {scenario: open, want: 2, allowed: true},
		"a sibling changes between the two":         {scenario: open, between: func(c *cluster, _ *attempt) { c.apps[0].Status.Health.Status = "Degraded" }, want: 2, allowed: true},
		"another webhook changes it":                {scenario: open, between: func(_ *cluster, a *attempt) { a.after.Operation.Sync.Revision = commit("c") }, want: 4},
		"another webhook changes what is no matter": {scenario: open, between: func(_ *cluster, a *attempt) { a.after.Operation.Sync.Prune = true }, want: 2, allowed: true},
		"somebody else writes the same":             {scenario: open, between: func(_ *cluster, a *attempt) { a.user = controllerUser }, want: 4, allowed: true},
		"a dry run comes between":                   {scenario: open, between: func(_ *cluster, a *attempt) { a.dryRun = true }, want: 4, allowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := clusterOf(tc.scenario)
			trial, _, _ := mutated(t, pinning(), c, syncOf(c, "prod"))
			write := pinned(c)
			if tc.between != nil {
				tc.between(c, write)
			}
			g.Expect(trial.handle(write.request()).Allowed).To(Equal(tc.allowed))
			g.Expect(c.reads).To(Equal(tc.want))
			reads := c.reads
			trial.handle(write.request())
			g.Expect(c.reads).To(Equal(reads+2), "a judgment is good for one write")
		})
	}
}
