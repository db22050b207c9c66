// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestHandleConditions asks what people see of a sync that a condition stops.
func TestHandleConditions(t *testing.T) {
	const (
		pausedNote = "step 3 of ApplicationSet argocd/guestbook is paused (Paused: INC-1). Next: stepgate resume " +
			"guestbook -n argocd --step 3, or correct the annotation stepgate.io/pause"
		soakNote = "step 3 of ApplicationSet argocd/guestbook may not sync before 2026-03-01T12:29:01Z: 1 Application " +
			"of step 2 is not done: qa (Soaking: until 2026-03-01T12:29:01Z). Next: wait, or change the annotation stepgate.io/soak"
		approval = "step 3 of ApplicationSet argocd/guestbook is not approved (NotApproved: " +
			"3@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa). Next: stepgate approve guestbook -n argocd --step 3"
		failures = "step 3 of ApplicationSet argocd/guestbook may not go on: 1 Application of it failed, and 0 may: " +
			"prod-eu (TooManyFailures: sync Failed). Next: repair them, or deploy another revision"
	)
	denied := func(set func(*argo.ApplicationSet), reason, blockers, note string) row {
		r := row{
			scenario: open, set: set, wantCode: 403, wantMessage: note,
			wantAudit:  "applicationset=argocd/guestbook; " + blockers + "decision=deny; mode=enforce; reason=" + reason + "; step=3",
			wantMetric: "deny " + reason + " enforce applicationset",
			wantEvent:  "Warning SyncDenied DenySync Application/prod/prod-uid: " + note,
		}
		return r
	}
	soaks := denied(annotated(settings.SoakAnnotation, "30m"), "Soaking", "blockers=qa=Soaking; ", soakNote)
	soaks.cluster = func(c *scenario.Cluster) {
		c.Apps[1].Status.Health.LastTransitionTime = ptr.To(metav1.NewTime(scenario.Noon.Add(-time.Minute)))
	}
	soaks.wantCauses = []string{"qa Soaking until 2026-03-01T12:29:01Z"}
	soaks.wantEvent = "Warning SyncDenied DenySync Application/prod/prod-uid related qa: " + soakNote
	fails := denied(annotated(settings.MaxFailuresAnnotation, "none"), "TooManyFailures",
		"blockers=prod-eu=TooManyFailures; ", failures)
	fails.scenario = "1:dev=Healthy 2:qa=Healthy 3:prod=Healthy 3:prod-eu=Healthy"
	fails.cluster = func(c *scenario.Cluster) {
		c.Apps[3].Status.OperationState = &argo.OperationState{
			Phase: "Failed", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, SyncResult: &argo.SyncOperationResult{Revision: scenario.Commit("a")},
		}
	}
	fails.wantCauses = []string{"prod-eu TooManyFailures sync Failed"}
	fails.wantEvent = "Warning SyncDenied DenySync Application/prod/prod-uid related prod-eu: " + failures
	fails.wantWarnings = []string{
		`stepgate: annotation stepgate.io/max-failures is not valid, the stricter reading is used: "none" is no number of Applications: write "2", or a share of the step such as "10%"`,
	}
	fails.wantMalformed = []string{settings.MaxFailuresAnnotation}
	stamp := func(what, by string) string {
		return `[{"step":3,"of":"` + what + `","by":"` + by + `","at":"2026-03-01T11:00:00Z"}]`
	}
	approved := row{
		scenario: open, set: annotated(settings.ApproveAnnotation, "3", settings.ApprovedAnnotation, "3@"+scenario.Commit("a"), settings.ApprovedByAnnotation, stamp(scenario.Commit("a"), "alice")), wantAllowed: true,
		wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=enforce; reason=EarlierStepsDone; step=3",
		wantMetric: "allow EarlierStepsDone enforce applicationset",
	}
	unstamped := denied(annotated(settings.ApproveAnnotation, "3", settings.ApprovedAnnotation,
		"3@"+scenario.Commit("a")), "NotApproved", "", approval)
	unstamped.wantWarnings = []string{
		"stepgate: annotation stepgate.io/approved is not valid, the stricter reading is used: 3@" + scenario.Commit("a") + " has no stamp in stepgate.io/approved-by, and approves nothing: remove the entry, and then write it again",
	}
	unstamped.wantMalformed = []string{settings.ApprovedAnnotation}
	eyes := denied(annotated(settings.ApproveAnnotation, "3", settings.ApprovedAnnotation, "3@"+scenario.Commit("a"),
		settings.ApprovedByAnnotation, stamp(scenario.Commit("a"), "bob")), "NotApproved", "", "")
	eyes.config = func(c *settings.Config) { c.FourEyes = true }
	eyes.write = func(a *scenario.Attempt) {
		a.User, a.After.Operation.InitiatedBy = scenario.ArgoCDServer, argo.OperationInitiator{Username: "bob"}
	}
	eyes.wantMessage = "step 3 of ApplicationSet argocd/guestbook is not approved (NotApproved: " +
		"3@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, which bob has approved, who has also started it). Next: stepgate approve guestbook -n argocd --step 3"
	eyes.wantEvent, eyes.wantMetric = "Warning SyncDenied DenySync Application/prod/prod-uid: "+eyes.wantMessage,
		"deny NotApproved enforce server"
	for name, r := range map[string]row{
		"approved":                           approved,
		"approved, and nobody knows by whom": unstamped,
		"approved by the one who starts it, and four eyes": eyes,
		"paused":            denied(annotated(settings.PauseAnnotation, "3: INC-1"), "Paused", "", pausedNote),
		"soaking":           soaks,
		"not approved":      denied(annotated(settings.ApproveAnnotation, "3"), "NotApproved", "", approval),
		"too many failures": fails,
		"audit mode only records it": {
			scenario: open, config: audit, set: annotated(settings.PauseAnnotation, "3: INC-1"), wantAllowed: true,
			wantAudit:    "applicationset=argocd/guestbook; decision=deny; mode=audit; reason=Paused; step=3",
			wantWarnings: []string{"stepgate (audit mode) would deny this sync: " + pausedNote},
			wantMetric:   "deny Paused audit applicationset",
			wantEvent:    "Normal SyncWouldBeDenied AuditSync Application/prod/prod-uid: " + pausedNote,
		},
	} {
		t.Run(name, r.run)
	}
}

// TestTheFirstStepIsHeldAndPinned by a condition only.
func TestTheFirstStepIsHeldAndPinned(t *testing.T) {
	for name, tc := range map[string]struct {
		set      func(*argo.ApplicationSet)
		want     string
		wantKeys []string
	}{
		"no condition":          {set: annotated(), wantKeys: []string{}},
		"a condition elsewhere": {set: annotated(settings.PauseAnnotation, "2"), wantKeys: []string{}},
		"paused":                {set: annotated(settings.PauseAnnotation, "1"), want: "Paused", wantKeys: []string{"decision"}},
		"not approved":          {set: annotated(settings.ApproveAnnotation, "1"), want: "NotApproved", wantKeys: []string{"decision"}},
		"a budget":              {set: annotated(settings.MaxFailuresAnnotation, "1"), wantKeys: []string{"pinned"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
			tc.set(c.Sets[0])
			trial := newTrial(scenario.Releasing(), c)
			resp := trial.mutator(c).Handle(t.Context(), webhook.AdmissionRequest{
				AdmissionRequest: scenario.SyncOf(c, "dev").Request(),
			})
			g.Expect(resp.AuditAnnotations["reason"]).To(Equal(tc.want))
			for _, key := range tc.wantKeys {
				g.Expect(resp.AuditAnnotations).To(HaveKey(key))
			}
			if len(tc.wantKeys) == 0 {
				g.Expect(resp.AuditAnnotations).To(BeEmpty())
				g.Expect(unstamped(resp.Patches)).To(BeEmpty())
			}
		})
	}
}
