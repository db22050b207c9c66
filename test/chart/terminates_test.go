// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
)

// Where it starts syncs, stepgate's account may terminate an automated sync that waits for another attempt, and change
// nothing else of a status.
func TestTheAccountTerminatesOnlyRetries(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.Expect(shared.CreateNamespace(ctx, "terminating")).To(Succeed())
	set := guestbook.Set("terminating")
	g.Expect(shared.Admin.Create(ctx, set)).To(Succeed())
	install(t, "stepgate", "terminating", "webhook.failurePolicy=Ignore", "start.enabled=true")
	stepgate, err := client.New(account(t, "terminating", "stepgate"), client.Options{
		Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	const status, sets = "stepgate may not change .status", "syncs of the Applications of ApplicationSets"
	end := func(app *argo.Application) { app.Status.OperationState.Phase = synccommon.OperationTerminating }
	try := func(g Gomega, name string, before, change func(*argo.Application)) error {
		app := guestbook.Application(set, name)
		app.Operation, app.Status.Health.Status = guestbook.RollingSync(), "Healthy"
		app.Operation.InitiatedBy.Automated = true
		app.Status.OperationState = &argo.OperationState{
			Phase: synccommon.OperationRunning, Operation: *app.Operation.DeepCopy(), StartedAt: metav1.Now(),
			FinishedAt: new(metav1.Now()), RetryCount: 1, Message: "it has failed. Retrying attempt #1",
			SyncResult: &argo.SyncOperationResult{Revision: guestbook.NewCommit},
		}
		if before != nil {
			before(app)
		}
		g.Expect(shared.Admin.Create(ctx, app)).To(Succeed())
		defer func() { g.Expect(shared.Admin.Delete(ctx, app)).To(Succeed()) }()
		changed := app.DeepCopy()
		change(changed)
		return stepgate.Patch(ctx, changed, client.MergeFrom(app), client.DryRunAll)
	}
	refused := func(app *argo.Application) { app.Status.Health.Status = "Degraded" }
	first := func(g Gomega) error { return try(g, "first", nil, refused) }
	g.Eventually(first).Should(MatchError(ContainSubstring(status)))
	for name, tc := range map[string]struct {
		before, change func(*argo.Application)
		want           string
	}{
		"as stepgate does": {change: end},
		"one that runs":    {before: func(a *argo.Application) { a.Status.OperationState.FinishedAt = nil }, change: end, want: status},
		"a first attempt":  {before: func(a *argo.Application) { a.Status.OperationState.RetryCount = 0 }, change: end, want: status},
		"that of a person": {
			before: func(a *argo.Application) { a.Status.OperationState.Operation.InitiatedBy.Automated = false }, change: end, want: status,
		},
		"of no ApplicationSet": {before: func(a *argo.Application) { a.OwnerReferences = nil }, change: end, want: sets},
		"one that has ended": {
			before: func(a *argo.Application) { a.Status.OperationState.Phase = synccommon.OperationFailed }, change: end, want: status,
		},
		"without an operation": {before: func(a *argo.Application) { a.Operation = nil }, change: end, want: status},
		"as if it had failed": {
			change: func(a *argo.Application) { a.Status.OperationState.Phase = synccommon.OperationFailed }, want: status,
		},
		"with another message":  {change: func(a *argo.Application) { end(a); a.Status.OperationState.Message = "x" }, want: status},
		"and its revision":      {change: func(a *argo.Application) { end(a); a.Status.OperationState.SyncResult.Revision = "x" }, want: status},
		"and takes the result":  {change: func(a *argo.Application) { end(a); a.Status.OperationState.SyncResult = nil }, want: status},
		"and the health":        {change: func(a *argo.Application) { end(a); a.Status.Health.Status = "Degraded" }, want: status},
		"and a new field":       {change: func(a *argo.Application) { end(a); a.Status.ControllerNamespace = "x" }, want: status},
		"and takes the status":  {change: func(a *argo.Application) { a.Status = argo.ApplicationStatus{} }, want: status},
		"and the operation":     {change: func(a *argo.Application) { end(a); a.Operation = nil }, want: status},
		"and another operation": {change: func(a *argo.Application) { end(a); a.Operation.Sync.Prune = true }, want: "may only start"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := try(g, "prod", tc.before, tc.change)
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(
				ContainSubstring("ValidatingAdmissionPolicy 'stepgate'"), ContainSubstring(tc.want),
			)))
		})
	}
}
