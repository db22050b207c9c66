// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
)

func TestWhatArgoCDSays(t *testing.T) {
	operation := func(phase synccommon.OperationPhase, retries int64) argo.ApplicationStatus {
		return argo.ApplicationStatus{
			OperationState: &argo.OperationState{Phase: phase, Message: "connection refused", RetryCount: retries},
		}
	}
	condition := func(kind string) argo.ApplicationStatus {
		return argo.ApplicationStatus{Conditions: []argo.ApplicationCondition{{Type: kind, Message: "connection refused"}}}
	}
	failed := func(message string, code synccommon.ResultCode) argo.ApplicationStatus {
		result := &argo.SyncOperationResult{
			Resources: argo.ResourceResults{{Kind: "Service", Name: "web", Status: synccommon.ResultCodeSynced, Message: "created"}, {Kind: "ConfigMap", Name: "page", Status: code, Message: "connection refused"}},
		}
		return argo.ApplicationStatus{
			OperationState: &argo.OperationState{Phase: "Failed", Message: message, SyncResult: result},
		}
	}
	for name, tc := range map[string]struct {
		status argo.ApplicationStatus
		want   string
	}{
		"a resource failed":                {failed("tasks are not valid.", "SyncFailed"), "tasks are not valid. ConfigMap page: connection refused"},
		"a resource failed, as it says":    {failed("not valid: connection refused", "SyncFailed"), "not valid: connection refused"},
		"no resource failed":               {failed("tasks are not valid.", "Synced"), "tasks are not valid."},
		"nothing is wrong":                 {},
		"it cannot be compared":            {condition("ComparisonError"), "ComparisonError: connection refused"},
		"a warning is no trouble":          {condition("OrphanedResourceWarning"), ""},
		"its sync failed":                  {operation("Failed", 0), "connection refused"},
		"its sync is tried again":          {operation("Running", 1), "connection refused"},
		"its sync runs for the first time": {operation("Running", 0), ""},
		"its sync has succeeded":           {operation("Succeeded", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(rollout.Says(&argo.Application{Status: tc.status})).To(Equal(tc.want))
		})
	}
}

func TestExplainShowsTheClusterAndWhatArgoCDSays(t *testing.T) {
	g := NewWithT(t)
	e := &rollout.Explanation{
		Outcome: rollout.Held, Blockers: []rollout.Blocker{{Application: "dev", Cluster: "eu-1", Step: 1, Reason: "NotCompleted"}, {Application: "gone", Step: 1, Reason: "NotGenerated"}},
		Needs: []rollout.Need{{Application: "dev", Text: "dev in cluster eu-1 (NotCompleted)"}, {Application: "gone", Text: "gone (NotGenerated)"}},
	}
	e.AskArgoCD(func(name string) *argo.Application {
		if name != "dev" {
			return nil
		}
		return &argo.Application{
			Status: argo.ApplicationStatus{Conditions: []argo.ApplicationCondition{{Type: "ComparisonError", Message: "connection refused"}}},
		}
	})
	text := strings.Join(e.Lines(screen.Screen{Width: 140}, now), "\n")
	g.Expect(text).To(
		ContainSubstring("1. dev in cluster eu-1 (NotCompleted)\n     Argo CD: ComparisonError: connection refused\n"),
	)
	g.Expect(text).To(ContainSubstring("2. gone (NotGenerated)"))
}

// TestAComparisonThatFailedTellsNoRevision has the cluster of prod not answer: Argo CD writes the name of the branch in
// place of a revision.
func TestAComparisonThatFailedTellsNoRevision(t *testing.T) {
	g := NewWithT(t)
	set, apps := scene("1:dev=Healthy/Synced@new 2:qa=Healthy/Synced@new 3:prod=Healthy/Unknown@new")
	for _, app := range apps {
		if app.Name == "guestbook-prod" {
			app.Status.Sync.Revision = "main"
			app.Status.ReconciledAt = &metav1.Time{Time: app.Status.ReconciledAt.Add(time.Second)}
			app.Spec.Destination.Name, app.Spec.Destination.Server = "eu-1", ""
			app.Status.Sync.ComparedTo.Destination = app.Spec.Destination
		}
	}
	lines := strings.Join(judged(set, apps).Tree(screen.Screen{Width: 140}, now, true), "\n")
	g.Expect(lines).NotTo(ContainSubstring("compared with "))
	g.Expect(lines).NotTo(ContainSubstring(", main"))
	g.Expect(lines).To(ContainSubstring("NotCompleted, cluster eu-1: Argo CD cannot compare it"))
}
