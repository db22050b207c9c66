// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestSyncedAgain has prod Pending since noon, and its sync begun a second later. The Gate has nothing against another
// one, which deploys nothing new: the Mutator holds it.
func TestSyncedAgain(t *testing.T) {
	pending := func(set *argo.ApplicationSet) {
		set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
			{Application: "prod", Step: "3", LastTransitionTime: ptr.To(metav1.NewTime(scenario.Noon))},
		}
	}
	synced := func(a *scenario.Attempt) {
		a.Before.Status.OperationState = &argo.OperationState{
			Phase: synccommon.OperationSucceeded, Operation: *a.After.Operation, StartedAt: metav1.NewTime(scenario.Noon.Add(time.Second)),
		}
	}
	for name, tc := range map[string]row{
		"the controller, again": {
			scenario: open, set: pending, write: synced, wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=enforce; reason=EarlierStepsDone; step=3",
			wantMetric: "allow EarlierStepsDone enforce applicationset",
		},
		"the controller, again, audited": {
			scenario: open, set: pending, write: synced, config: func(c *settings.Config) { c.Mode = settings.Audit }, wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=audit; reason=EarlierStepsDone; step=3",
			wantMetric: "allow EarlierStepsDone audit applicationset",
		},
	} {
		t.Run(name, tc.run)
	}
}

// TestWhatSomebodyHasTerminatedIsHeld while it would deploy the same. A person may start it again.
func TestWhatSomebodyHasTerminatedIsHeld(t *testing.T) {
	byHand := func(a *scenario.Attempt) {
		a.User, a.After.Operation.InitiatedBy.Automated = scenario.ArgoCDServer, false
	}
	for name, tc := range map[string]struct {
		app, before, message string
		edit                 func(a *scenario.Attempt)
		held                 bool
	}{
		"the controller, again":     {app: "prod", before: open, message: "Operation terminated", held: true},
		"in step 1":                 {app: "dev", before: open, message: "Operation terminated", held: true},
		"a person, again":           {app: "prod", before: open, message: "Operation terminated", edit: byHand},
		"another commit":            {app: "prod", before: "1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b", message: "Operation terminated"},
		"another commit, in step 1": {app: "dev", before: "1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b", message: "Operation terminated"},
		"it was no person":          {app: "prod", before: open, message: "Operation terminated, triggered by controller sync timeout"},
		"it has failed, by itself":  {app: "prod", before: open, message: "one or more objects failed to apply"},
		"its destination is changed": {app: "prod", before: open, message: "Operation terminated", edit: func(a *scenario.Attempt) {
			a.Before.Spec.Destination.Namespace, a.After.Spec.Destination.Namespace = "elsewhere", "elsewhere"
			a.Before.Status.Sync.ComparedTo.Destination = a.Before.Spec.Destination
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			config := scenario.Releasing()
			before := scenario.Of(tc.before)
			was := scenario.SyncOf(before, tc.app)
			_, _, first := mutated(t, config, before, was)
			c := scenario.Of(open)
			a := scenario.SyncOf(c, tc.app)
			a.Before.Status.OperationState = &argo.OperationState{
				Phase: synccommon.OperationFailed, Operation: *first.Operation, Message: tc.message,
				StartedAt:  metav1.NewTime(scenario.Noon.Add(-time.Second)),
				SyncResult: &argo.SyncOperationResult{Revision: was.Before.Status.Sync.Revision},
			}
			if tc.edit != nil {
				tc.edit(a)
			}
			_, resp, _ := mutated(t, config, c, a)
			held := resp.AuditAnnotations["decision"] == "hold" && resp.AuditAnnotations["reason"] == "AlreadySynced"
			g.Expect(held).To(Equal(tc.held), "%v", resp.AuditAnnotations)
		})
	}
}
