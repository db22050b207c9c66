// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// What the write alone settles is answered without a read; the reader fails the test when it is called.
func TestSettledWithoutAnyRead(t *testing.T) {
	unowned := func(a *scenario.Attempt) { a.Before.OwnerReferences, a.After.OwnerReferences = nil, nil }
	for name, tc := range map[string]struct {
		write      func(*scenario.Attempt)
		wantReason string
	}{
		"an operation that does not change": {func(a *scenario.Attempt) { a.Before.Operation = a.After.Operation.DeepCopy() }, "NotAnOperationWrite"},
		"an operation that is removed":      {func(a *scenario.Attempt) { a.Before, a.After = a.After, a.Before }, "NotAnOperationWrite"},
		"a write that has no operation":     {func(a *scenario.Attempt) { a.After.Operation = nil }, "NotAnOperationWrite"},
		"an Application that is created":    {func(a *scenario.Attempt) { a.Before, a.After.Operation = nil, nil }, "NotAnOperationWrite"},
		"an Application that is deleted":    {func(a *scenario.Attempt) { a.Before, a.After = a.After, nil }, "NotAnOperationWrite"},
		"a sync that is terminated": {func(a *scenario.Attempt) {
			a.Before.Operation = a.After.Operation.DeepCopy()
			a.Before.Status.OperationState = &argo.OperationState{Phase: "Running"}
			a.After.Status.OperationState = &argo.OperationState{Phase: "Terminating"}
		}, "NotAnOperationWrite"},
		"a dry-run operation":             {func(a *scenario.Attempt) { a.After.Operation.Sync.DryRun = true }, "DryRunOperation"},
		"an Application without an owner": {unowned, "NotManaged"},
		"an owner of another kind": {func(a *scenario.Attempt) {
			a.Before.OwnerReferences[0].Kind, a.After.OwnerReferences[0].Kind = "Application", "Application"
		}, "NotManaged"},
		"an ApplicationSet of another group": {func(a *scenario.Attempt) {
			a.Before.OwnerReferences[0].APIVersion, a.After.OwnerReferences[0].APIVersion = "argoproj.iox/v1", "argoproj.io"
		}, "NotManaged"},
		"an ApplicationSet that does not control": {func(a *scenario.Attempt) {
			a.Before.OwnerReferences[0].Controller, a.After.OwnerReferences[0].Controller = nil, ptr.To(false)
		}, "NotManaged"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			write := scenario.SyncOf(scenario.Of(blocked), "prod")
			tc.write(write)
			resp := newTrial(scenario.Config(), scenario.Untouchable{T: t}).handle(write.Request())
			g.Expect(resp.Allowed).To(BeTrue())
			g.Expect(resp.AuditAnnotations).To(HaveKeyWithValue("reason", tc.wantReason))
		})
	}
}

// What the ApplicationSet settles is answered with one read.
func TestSettledByTheApplicationSetAlone(t *testing.T) {
	for name, tc := range map[string]row{
		"it is gone":            {cluster: func(c *scenario.Cluster) { c.Sets = nil }, wantAudit: "ApplicationSetNotFound"},
		"it has no RollingSync": {set: func(set *argo.ApplicationSet) { set.Spec.Strategy = nil }, wantAudit: "NotRollingSync"},
		"it has no steps": {set: func(set *argo.ApplicationSet) {
			set.Spec.Strategy.RollingSync.Steps = nil
		}, wantAudit: "NotRollingSync"},
		"it is off":                  {set: annotated(settings.ModeAnnotation, "off"), wantAudit: "GateOff"},
		"it is bypassed":             {set: annotated(settings.BypassAnnotation, inAnHour+" INC-1"), wantAudit: "Bypassed"},
		"the target is in no step":   {scenario: "9:prod=Healthy", wantAudit: "NotSelected"},
		"the target is in the first": {scenario: "1:prod=Healthy", wantAudit: "FirstStep"},
		"the sync is a rollback":     {write: rollback, wantAudit: "Rollback"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.scenario == "" {
				tc.scenario = blocked
			}
			c, config, write := tc.prepare()
			resp := newTrial(config, c).handle(write.Request())
			g.Expect(resp.Allowed).To(BeTrue())
			g.Expect(resp.AuditAnnotations).To(HaveKeyWithValue("reason", tc.wantAudit))
			g.Expect(c.Reads).To(Equal(1))
		})
	}
}

// Whichever read fails: in enforce mode nothing is admitted, in audit mode everything is, and it is recorded.
func TestAnyReadFails(t *testing.T) {
	owned := func(*scenario.Attempt) {}
	moved := func(a *scenario.Attempt) { a.After.OwnerReferences[0] = scenario.OwnedBy("other") }
	for name, tc := range map[string]struct {
		scenario  string
		write     func(*scenario.Attempt)
		wantReads int
	}{
		"of a write that would be denied":            {blocked, owned, 2},
		"of a write that would be allowed":           {open, owned, 2},
		"of a write that moves, would be denied":     {blocked, moved, 4},
		"of a write that moves, would be allowed":    {open, moved, 4},
		"of a write of the first step":               {"1:prod=Healthy", owned, 1},
		"of a write of no step":                      {"9:prod=Healthy", owned, 1},
		"of a CREATE":                                {open, func(a *scenario.Attempt) { a.Before = nil }, 1},
		"of a rollback":                              {open, rollback, 1},
		"of a write whose owner is stripped":         {open, func(a *scenario.Attempt) { a.After.OwnerReferences = nil }, 2},
		"of a write that moves to a nonexistent":     {open, func(a *scenario.Attempt) { a.After.OwnerReferences[0] = scenario.OwnedBy("none") }, 3},
		"of a bypass that argocd-server vouches for": {open, func(a *scenario.Attempt) { askBypass("alice")(a); a.User = scenario.ArgoCDServer }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			attemptAt := func(config settings.Config, failAt int) (*scenario.Cluster, *trial, bool, int32) {
				c := scenario.Of(tc.scenario)
				c.Sets = append(c.Sets, scenario.RollingSync("other", "1", "2", "3"))
				c.FailAt = failAt
				write := scenario.SyncOf(c, "prod")
				tc.write(write)
				trial := newTrial(config, c)
				resp := trial.handle(write.Request())
				if resp.Result == nil {
					return c, trial, resp.Allowed, 0
				}
				return c, trial, resp.Allowed, resp.Result.Code
			}
			audited := scenario.Config()
			audited.Mode = settings.Audit

			c, _, _, _ := attemptAt(scenario.Config(), 0)
			g.Expect(c.Reads).To(Equal(tc.wantReads))
			for k := 1; k <= tc.wantReads; k++ {
				_, trial, allowed, code := attemptAt(scenario.Config(), k)
				g.Expect(allowed).To(BeFalse(), "read %d", k)
				g.Expect(code).To(BeElementOf(int32(503), int32(403)), "read %d", k)
				posted := 1
				if name == "of a CREATE" && k == 1 {
					posted = 0 // nobody knows then that the ApplicationSet exists, and the Application does not
				}
				g.Expect(trial.posted()).To(HaveLen(posted))

				_, trial, allowed, code = attemptAt(audited, k)
				g.Expect(allowed).To(BeTrue(), "read %d", k)
				g.Expect(code).To(BeZero(), "read %d", k)
				events := trial.posted()
				g.Expect(events).To(HaveLen(posted))
				for _, event := range events {
					g.Expect(event.Reason).To(Equal("SyncGateError"))
				}
			}
		})
	}
}
