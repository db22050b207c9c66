// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"strings"
	"testing"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
)

// TestWhatSomebodyHasTerminated is told by a watch, and by an admission request, as long as the same is to be deployed.
func TestWhatSomebodyHasTerminated(t *testing.T) {
	same := argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}
	for name, tc := range map[string]struct {
		phase   synccommon.OperationPhase
		message string
		// edit changes the Application after that, and next is what somebody asks for; nil for the same.
		edit func(g *WithT, app *argo.Application)
		next *argo.Operation
		want bool
	}{
		"the same":                 {message: "Operation terminated", want: true},
		"after retries":            {message: "Operation terminated (retried 3 times).", want: true},
		"with errors":              {phase: "Error", message: "Operation termination had errors", want: true},
		"after a timeout":          {message: "Operation terminated, triggered by controller sync timeout"},
		"it has failed":            {message: "one or more objects failed to apply, reason: " + strings.Repeat("x", 1<<20)},
		"it says so, and succeeds": {phase: "Succeeded", message: "Operation terminated"},
		"another revision":         {message: "Operation terminated", next: &argo.Operation{Sync: &argo.SyncOperation{Revision: oldCommit}}},
		"a dry run":                {message: "Operation terminated", next: &argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit, DryRun: true}}},
		"other parameters": {message: "Operation terminated", edit: func(_ *WithT, app *argo.Application) {
			app.Spec.Source.Helm.Parameters[0].Value = "v2"
			app.Status.Sync.ComparedTo.Source = *app.Spec.Source
		}},
		"another destination": {message: "Operation terminated", edit: func(_ *WithT, app *argo.Application) {
			app.Spec.Destination.Namespace = "elsewhere"
			app.Status.Sync.ComparedTo.Destination = app.Spec.Destination
		}},
		"a dry run has taken its place": {message: "Operation terminated", edit: func(g *WithT, app *argo.Application) {
			operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit, DryRun: true}}, "Succeeded", 50)
		}, want: true},
		"nobody has stamped it": {message: "Operation terminated", edit: func(_ *WithT, app *argo.Application) {
			app.Status.OperationState.Operation.Info = nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app := application()
			if tc.phase == "" {
				tc.phase = synccommon.OperationFailed
			}
			operate(g, app, same, tc.phase, 40)
			app.Status.OperationState.Message = tc.message
			if tc.edit != nil {
				tc.edit(g, app)
			}
			if tc.next == nil {
				tc.next = &same
				p := NewProjection(app)
				g.Expect(p.Stopped != "" && p.Stopped == p.Content.Revised).To(Equal(tc.want))
			}
			g.Expect(Tracking{}.Target(asked(g, app, *tc.next)).Stopped).To(Equal(tc.want))
		})
	}
}

// TestAStoppedSyncAfterOneThatFailedInItsHooks, of the same or of something else: those hooks count, and it is stopped.
func TestAStoppedSyncAfterOneThatFailedInItsHooks(t *testing.T) {
	for _, revision := range []string{newCommit, oldCommit} {
		g := NewWithT(t)
		app := application()
		operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: revision}}, "Failed", 30)
		app.Status.OperationState.SyncResult.Resources = argo.ResourceResults{{SyncPhase: "PostSync", Name: "smoke"}}
		operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}, "Failed", 40)
		app.Status.OperationState.Message = "Operation terminated"
		p := NewProjection(app)
		g.Expect(p.Application.LastFull.Applied).To(BeTrue())
		g.Expect(p.Stopped).To(And(Not(BeEmpty()), Equal(p.Content.Revised)))
	}
}

// TestWhatIsBeingTerminated is not started again meanwhile, unless it has taken too long for Argo CD.
func TestWhatIsBeingTerminated(t *testing.T) {
	for message, want := range map[string]bool{
		"waiting for completion of hook": true, "operation is terminating due to timeout": false,
	} {
		g := NewWithT(t)
		app, same := application(), argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}
		operate(g, app, same, synccommon.OperationTerminating, 40)
		app.Status.OperationState.Message = message
		g.Expect(Tracking{}.Target(asked(g, app, same)).Stopped).To(Equal(want), message)
		other := argo.Operation{Sync: &argo.SyncOperation{Revision: oldCommit}}
		g.Expect(Tracking{}.Target(asked(g, app, other)).Stopped).To(BeFalse(), message)
	}
}
