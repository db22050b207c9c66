// SPDX-License-Identifier: Apache-2.0

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
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestWhatPeopleSeeOfAHeldSync holds prod until dev is healthy, and then lets it go.
func TestWhatPeopleSeeOfAHeldSync(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	c.Apps[0].Status.Health.Status = health.HealthStatusProgressing
	trial := newTrial(scenario.Releasing(), c)

	trial.known = scenario.Watched{Cluster: c}
	mutator := trial.mutator(c)
	write := func() webhook.AdmissionResponse {
		return mutator.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: scenario.SyncOf(c, "prod").Request()})
	}

	resp := write()
	g.Expect(resp.AuditAnnotations).To(Equal(map[string]string{
		"decision": "hold", "reason": "NotHealthy", "mode": "enforce", "applicationset": "argocd/guestbook", "step": "3", "blockers": "dev=NotHealthy",
	}))
	events := trial.posted()
	g.Expect(events).To(HaveLen(1))
	g.Expect([]string{events[0].Type, events[0].Reason}).To(Equal([]string{"Normal", "SyncHeld"}))
	g.Expect(events[0].Note).To(And(
		ContainSubstring("dev (NotHealthy: Progressing)"),
		HaveSuffix(". Nobody has to do anything: the sync starts by itself"),
	))
	write()
	g.Expect(trial.posted()).To(BeEmpty(), "one Event for one reason")
	g.Expect(trial.counted("stepgate_decisions_total", "hold")).To(Equal(2.0))
	g.Expect(trial.counted("stepgate_operations_changed_total", "held")).To(Equal(2.0))
	g.Expect(trial.counted("stepgate_applicationset_blocked_since_timestamp_seconds",
		"")).To(Equal(float64(scenario.Noon.Unix())))

	trial.clock.Step(72 * time.Second)
	c.Apps[0].Status.Health.Status = health.HealthStatusHealthy
	g.Expect(write().AuditAnnotations).To(HaveKey("pinned"))
	allowed := scenario.SyncOf(c, "prod")
	allowed.After.Operation.Sync.Revision, allowed.After.Operation.Sync.Source = scenario.Commit("b"),
		allowed.After.Spec.Source
	g.Expect(trial.handle(allowed.Request()).Allowed).To(BeTrue())
	events = trial.posted()
	g.Expect(events).To(HaveLen(1))
	g.Expect(events[0].Type + " " + events[0].Reason + ": " + events[0].Note).To(Equal(
		"Normal SyncReleased: step 3 of ApplicationSet argocd/guestbook may sync now: it has waited for 1m12s, last for dev (NotHealthy: Progressing)"))
	g.Expect(trial.handle(allowed.Request()).Allowed).To(BeTrue())
	g.Expect(trial.posted()).To(BeEmpty(), "it is told once")
}

// TestAHeldRepetition leaves the ApplicationSet controller the time to notice the sync: a refresh would hold up the
// next step.
func TestAHeldRepetition(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
		{Application: "prod", Step: "3", Status: "Progressing"},
	}
	trial := newTrial(scenario.Releasing(), c)
	a := scenario.SyncOf(c, "prod")
	a.Before.Status.OperationState = &argo.OperationState{
		Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, StartedAt: metav1.NewTime(scenario.Noon),
	}
	resp := trial.mutator(c).Handle(t.Context(),
		webhook.AdmissionRequest{AdmissionRequest: a.Request()})
	g.Expect(resp.AuditAnnotations).To(And(HaveKeyWithValue("decision", "hold"),
		HaveKeyWithValue("reason", "AlreadySynced")))
	g.Expect(trial.refreshes.Take()).To(BeEmpty())
}

// TestWhatIsLeftOfAnOperationIsHeld as it comes of a merge patch of the ApplicationSet controller, right after the end of a
// sync by somebody else.
func TestWhatIsLeftOfAnOperationIsHeld(t *testing.T) {
	noSync := func(op *argo.Operation) { op.Sync = nil }
	byNobody := func(op *argo.Operation) { op.InitiatedBy = argo.OperationInitiator{} }
	for name, tc := range map[string]struct {
		app, user string
		left      func(*argo.Operation)
		want      policy.Reason
	}{
		"no sync, in step 1":          {app: "dev", left: noSync, want: policy.AlreadySynced},
		"no sync, in step 3":          {app: "prod", left: noSync, want: policy.NotPinned},
		"no sync, of somebody else":   {app: "dev", left: noSync, user: "jane"},
		"by nobody, in step 1":        {app: "dev", left: byNobody, want: policy.AlreadySynced},
		"by nobody, in step 3":        {app: "prod", left: byNobody, want: policy.AlreadySynced},
		"by nobody, of somebody else": {app: "dev", left: byNobody, user: "jane"},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Of("1:dev=Healthy@b 3:prod=Healthy@b")
			a := scenario.SyncOf(c, tc.app)
			tc.left(a.After.Operation)
			if tc.user != "" {
				a.User = tc.user
			}
			_, resp, app := mutated(t, scenario.Pinning(), c, a)
			g := NewWithT(t)
			g.Expect(resp.AuditAnnotations["reason"]).To(Equal(string(tc.want)))
			g.Expect(app.Operation == nil).To(Equal(tc.want != ""))
		})
	}
}

// TestAHeldWriteKeepsTheLastResult sets an operation and clears the result of the last one in one write, as argocd-server
// does, and as ApplicationSync is to do.
func TestAHeldWriteKeepsTheLastResult(t *testing.T) {
	failed := &argo.OperationState{
		Phase: "Failed", Operation: argo.Operation{Sync: &argo.SyncOperation{Revision: scenario.Commit("b")}},
		Message: "a hook failed", StartedAt: metav1.NewTime(scenario.Noon), RetryCount: 2,
		SyncResult: &argo.SyncOperationResult{Revision: scenario.Commit("b"), Resources: argo.ResourceResults{{Kind: "Job", Name: "smoke", Message: "x"}}},
	}
	pending := &argo.Operation{Sync: &argo.SyncOperation{Revision: scenario.Commit("a")}}
	other := &argo.OperationState{Phase: "Running", StartedAt: metav1.NewTime(scenario.Noon)}
	for name, tc := range map[string]struct {
		early   bool
		edit    func(a *scenario.Attempt)
		want    *argo.OperationState
		patches int
	}{
		"it clears the result":     {true, func(a *scenario.Attempt) { a.After.Status.OperationState = nil }, failed, 2},
		"it leaves the result":     {true, func(*scenario.Attempt) {}, failed, 1},
		"it writes another result": {true, func(a *scenario.Attempt) { a.After.Status.OperationState = other }, other, 1},
		"there was none": {true, func(a *scenario.Attempt) {
			a.Before.Status, a.After.Status = argo.ApplicationStatus{}, argo.ApplicationStatus{}
		}, nil, 1},
		"it replaces another operation": {true, func(a *scenario.Attempt) { a.Before.Operation, a.After.Status.OperationState = pending, nil }, failed, 2},
		"it is created":                 {true, func(a *scenario.Attempt) { a.Before, a.After.Status.OperationState = nil, nil }, nil, 1},
		"its turn has come":             {false, func(a *scenario.Attempt) { a.After.Status.OperationState = nil }, nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 3:prod=Healthy@b")
			if tc.early {
				c.Apps[0].Status.Health.Status = health.HealthStatusProgressing
			}
			a := scenario.SyncOf(c, "prod")
			a.Before.Status.OperationState, a.After.Status.OperationState = failed, failed.DeepCopy()
			tc.edit(a)
			trial, resp, app := mutated(t, scenario.Releasing(), c, a)
			g.Expect(resp.Patches).To(HaveLen(tc.patches))
			g.Expect(scenario.Encode(app.Status.OperationState)).To(MatchJSON(scenario.Encode(tc.want)), "to the last field")
			if !tc.early {
				g.Expect(app.Operation.Sync.Revision).To(Equal(scenario.Commit("b")), "it is pinned")
				return
			}
			var before *argo.Operation
			if a.Before != nil {
				before = a.Before.Operation
			}
			g.Expect(app.Operation).To(Equal(before))
			g.Expect(trial.counted("stepgate_decisions_total", "hold")).To(Equal(1.0), "it is recorded")
		})
	}
}

// TestAHeldWriteHidesNoFailure from the siblings of its step.
func TestAHeldWriteHidesNoFailure(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Progressing@b 2:qa=Healthy@b 2:qb=Healthy@b")
	c.Sets[0].Annotations = map[string]string{settings.MaxFailuresAnnotation: "0"}
	c.Apps[1].Status.OperationState = &argo.OperationState{
		Phase: "Failed", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, SyncResult: &argo.SyncOperationResult{Revision: scenario.Commit("b")},
	}
	a := scenario.SyncOf(c, "qa")
	a.After.Status.OperationState = nil
	trial, _, stored := mutated(t, scenario.Releasing(), c, a)
	g.Expect(stored.Operation).To(BeNil(), "it is held")

	c.Apps[0].Status.Health.Status, c.Apps[1] = "Healthy", stored
	_, other := mutatedBy(t, trial, c, scenario.SyncOf(c, "qb"))
	g.Expect(other.Operation).To(BeNil(), "qa has failed")
	g.Expect(trial.counted("stepgate_operations_changed_total", "held", "TooManyFailures")).To(Equal(1.0))
}

// TestAHeldWriteWithoutAStatusGetsNoneBack has the API server given patches that apply: there is nothing to add to.
func TestAHeldWriteWithoutAStatusGetsNoneBack(t *testing.T) {
	for name, status := range map[string]string{"none": "", "null": `"status":null,`} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Degraded@b 3:prod=Healthy@b")
			a := scenario.SyncOf(c, "prod")
			a.Before.Status.OperationState = &argo.OperationState{Phase: "Failed"}
			req := a.Request()
			fields := fieldsOf(g, req.Object.Raw)
			delete(fields, "status")
			req.Object.Raw = append([]byte("{"+status), scenario.Encode(fields)[1:]...)
			mutator := newTrial(scenario.Releasing(), c).mutator(c)
			stored := fieldsOf(g, patchedBy(g, req.Object.Raw, mutate(t, mutator, req)))
			g.Expect(stored).NotTo(HaveKey("operation"))
			g.Expect(stored["status"]).To(BeNil())
		})
	}
}

// TestAWriteIsJudgedOnce has both webhooks called for a write: only the first one reads.
func TestAWriteIsJudgedOnce(t *testing.T) {
	const open = "1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b"
	pinned := func(c *scenario.Cluster) *scenario.Attempt {
		a := scenario.SyncOf(c, "prod")
		a.After.Operation.Sync.Revision, a.After.Operation.Sync.Source = scenario.Commit("b"), a.After.Spec.Source
		return a
	}
	for name, tc := range map[string]struct {
		scenario string
		between  func(*scenario.Cluster, *scenario.Attempt)
		want     int
		allowed  bool
	}{
		"it is held":                                {scenario: "1:dev=Degraded@b 3:prod=Healthy@b", want: 4},
		"it passes":                                 {scenario: open, want: 2, allowed: true},
		"a sibling changes between the two":         {scenario: open, between: func(c *scenario.Cluster, _ *scenario.Attempt) { c.Apps[0].Status.Health.Status = "Degraded" }, want: 2, allowed: true},
		"another webhook changes it":                {scenario: open, between: func(_ *scenario.Cluster, a *scenario.Attempt) { a.After.Operation.Sync.Revision = scenario.Commit("c") }, want: 4},
		"another webhook changes what is no matter": {scenario: open, between: func(_ *scenario.Cluster, a *scenario.Attempt) { a.After.Operation.Sync.Prune = true }, want: 2, allowed: true},
		"somebody else writes the same":             {scenario: open, between: func(_ *scenario.Cluster, a *scenario.Attempt) { a.User = scenario.ApplicationController }, want: 4, allowed: true},
		"a dry run comes between":                   {scenario: open, between: func(_ *scenario.Cluster, a *scenario.Attempt) { a.DryRun = true }, want: 4, allowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(tc.scenario)
			trial, _, _ := mutated(t, scenario.Pinning(), c, scenario.SyncOf(c, "prod"))
			write := pinned(c)
			if tc.between != nil {
				tc.between(c, write)
			}
			g.Expect(trial.handle(write.Request()).Allowed).To(Equal(tc.allowed))
			g.Expect(c.Reads).To(Equal(tc.want))
			reads := c.Reads
			trial.handle(write.Request())
			g.Expect(c.Reads).To(Equal(reads+2), "a judgment is good for one write")
		})
	}
}

// TestWhoIsToldOfAHeldSync warns whoever has to ask again, and says in the Event who does.
func TestWhoIsToldOfAHeldSync(t *testing.T) {
	for name, tc := range map[string]struct {
		user, names string
		// syncs says that Argo CD syncs the Application by itself.
		syncs, warns bool
		ends         string
	}{
		"the ApplicationSet controller": {
			user: scenario.ApplicationSetController, names: "applicationset-controller", ends: ". Nobody has to do anything: the sync starts by itself",
		},
		"auto-sync": {user: scenario.ApplicationController, syncs: true, ends: ". Nobody has to do anything: the sync starts by itself"},
		"auto-sync of an account that nobody has listed": {
			user: "system:serviceaccount:other:controller", syncs: true, ends: ". Nobody has to do anything: the sync starts by itself",
		},
		"a script that says it is automated": {user: "jane", warns: true, ends: "ask for the sync again then"},
		"another program": {
			user: "system:serviceaccount:kargo:kargo-controller", names: "kargo-controller", syncs: true, warns: true,
			ends: "ask for the sync again then",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Progressing@b 3:prod=Healthy@b")
			a := scenario.SyncOf(c, "prod")
			a.User, a.After.Operation.InitiatedBy.Username = tc.user, tc.names
			if tc.syncs {
				for _, app := range []*argo.Application{a.Before, a.After} {
					app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
				}
			}
			trial, resp, stored := mutated(t, scenario.Releasing(), c, a)
			g.Expect(stored.Operation).To(BeNil())
			events := trial.posted()
			g.Expect(events).To(HaveLen(1))
			g.Expect(events[0].Note).To(And(ContainSubstring("dev (NotHealthy: Progressing)"), HaveSuffix(tc.ends)))
			if !tc.warns {
				g.Expect(resp.Warnings).To(BeEmpty(), "it would fill its log")
				return
			}
			g.Expect(resp.Warnings).To(ConsistOf(And(
				HavePrefix("stepgate stored this write without its operation"), ContainSubstring("dev (NotHealthy: Progressing)"),
			)))
		})
	}
}

// TestATrialHearsTheGate has somebody try an early sync of a machine, to see that the gate refuses it: it is not held.
func TestATrialHearsTheGate(t *testing.T) {
	for _, dryRun := range []bool{true, false} {
		g := NewWithT(t)
		c := scenario.Of("1:dev=Progressing@b 3:prod=Healthy@b")
		a := scenario.SyncOf(c, "prod")
		a.DryRun = dryRun
		a.After.Operation.Info = append(a.After.Operation.Info, &argo.Info{Name: SelfTestInfo, Value: "mutate"})
		_, _, stored := mutated(t, scenario.Releasing(), c, a)
		g.Expect(stored.Operation != nil).To(Equal(dryRun))
	}
}
