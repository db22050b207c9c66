package webhook

import (
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestSyncedAgain has prod Pending since noon, and its sync begun a second later.
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
	const again = "step 3 of ApplicationSet argocd/guestbook may not sync again: the Application has been synced in " +
		"its turn"
	for name, tc := range map[string]row{
		"the controller, again": {
			scenario: open, set: pending, write: synced, wantCode: 403, wantMessage: again,
			wantAudit:  "applicationset=argocd/guestbook; decision=deny; mode=enforce; reason=AlreadySynced; step=3",
			wantMetric: "deny AlreadySynced enforce applicationset",
		},
		"the controller, again, audited": {
			scenario: open, set: pending, write: synced, config: func(c *settings.Config) { c.Mode = settings.Audit }, wantAllowed: true,
			wantWarnings: []string{"stepgate (audit mode) would deny this sync: " + again},
			wantAudit:    "applicationset=argocd/guestbook; decision=deny; mode=audit; reason=AlreadySynced; step=3",
			wantMetric:   "deny AlreadySynced audit applicationset",
		},
		"an operation that names its revision": {
			scenario: open, set: pending, wantAllowed: true,
			write: func(a *scenario.Attempt) {
				synced(a)
				a.After.Operation.Sync.Revision, a.After.Operation.Sync.Source = scenario.Commit("a"), a.After.Spec.Source
			},
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=enforce; reason=EarlierStepsDone; step=3",
			wantMetric: "allow EarlierStepsDone enforce applicationset",
		},
		"what the write itself says of its last operation does not count": {
			scenario: open, set: pending, wantAllowed: true,
			write: func(a *scenario.Attempt) {
				synced(a)
				a.After.Status.OperationState, a.Before.Status.OperationState = a.Before.Status.OperationState, nil
			},
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=enforce; reason=EarlierStepsDone; step=3",
			wantMetric: "allow EarlierStepsDone enforce applicationset",
		},
	} {
		t.Run(name, tc.run)
	}
}
