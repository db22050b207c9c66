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
