// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// What somebody who may write Applications could try in order to get past the gate, in one write.

func TestAdversarialWritesAreDenied(t *testing.T) {
	for name, tc := range map[string]struct {
		user  string
		write func(*scenario.Attempt)
		// wantAudit is left out if it is the usual one.
		wantAudit string
		// wantInitiator is left out if it is "other".
		wantInitiator string
		unpinned      bool
	}{
		"a plain operation with kubectl": {},
		"an operation that replaces another one": {write: func(a *scenario.Attempt) {
			a.Before.Operation = &argo.Operation{Sync: &argo.SyncOperation{Revision: scenario.Commit("a")}}
		}},
		"a real sync that replaces a dry run": {write: func(a *scenario.Attempt) {
			a.Before.Operation = a.After.Operation.DeepCopy()
			a.Before.Operation.Sync.DryRun = true
		}},
		"an operation that differs in its info only": {write: func(a *scenario.Attempt) {
			a.Before.Operation = a.After.Operation.DeepCopy()
			a.After.Operation.Info[0].Value = "again"
		}},
		"an operation that syncs nothing": {write: func(a *scenario.Attempt) { a.After.Operation = &argo.Operation{} }},
		"an operation on some resources only": {write: func(a *scenario.Attempt) {
			a.After.Operation.Sync.Resources = []argo.SyncOperationResource{{Kind: "ConfigMap", Name: "one"}}
		}},
		"the label moved to an earlier step": {write: func(a *scenario.Attempt) {
			a.After.Labels["step"] = "1"
		}},
		"the label moved to no step": {write: func(a *scenario.Attempt) { a.After.Labels["step"] = "none" }},
		"the labels removed":         {write: func(a *scenario.Attempt) { a.After.Labels = nil }},
		"the label moved to a later step": {write: func(a *scenario.Attempt) {
			a.Before = a.Before.DeepCopy()
			a.Before.Labels["step"] = "1"
		}},
		"the labels added": {write: func(a *scenario.Attempt) {
			a.Before = a.Before.DeepCopy()
			a.Before.Labels = nil
		}},
		"the ownerReference stripped": {write: func(a *scenario.Attempt) { a.After.OwnerReferences = nil }},
		"the ownerReference added": {write: func(a *scenario.Attempt) {
			a.Before = a.Before.DeepCopy()
			a.Before.OwnerReferences = nil
		}},
		"the controller flag flipped":   {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0].Controller = ptr.To(false) }},
		"the controller flag removed":   {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0].Controller = nil }},
		"the owner's kind changed":      {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0].Kind = "applicationset" }},
		"the owner's group changed":     {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0].APIVersion = "example.com/v1" }},
		"the owner's version changed":   {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0].APIVersion = "argoproj.io/v1" }},
		"the owner's UID changed":       {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0].UID = "another" }},
		"the owner's name changed":      {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0].Name = "another" }},
		"re-pointed to a nonexistent":   {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0] = scenario.OwnedBy("nonexistent") }},
		"re-pointed to one that is off": {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0] = scenario.OwnedBy("off") }},
		"re-pointed from one that is off": {write: func(a *scenario.Attempt) {
			a.Before = a.Before.DeepCopy()
			a.Before.OwnerReferences[0] = scenario.OwnedBy("off")
		}},
		"re-pointed to one in audit mode": {write: func(a *scenario.Attempt) { a.After.OwnerReferences[0] = scenario.OwnedBy("audited") }},
		"re-pointed from one in audit mode": {write: func(a *scenario.Attempt) {
			a.Before = a.Before.DeepCopy()
			a.Before.OwnerReferences[0] = scenario.OwnedBy("audited")
		}},
		"another owner that does not control": {write: func(a *scenario.Attempt) {
			other := scenario.OwnedBy("off")
			other.Controller = nil
			a.After.OwnerReferences = append([]metav1.OwnerReference{other}, a.After.OwnerReferences...)
		}},
		"claims to be the ApplicationSet controller": {write: func(a *scenario.Attempt) {
			a.After.Operation.InitiatedBy = argo.OperationInitiator{Username: "applicationset-controller", Automated: true}
		}},
		"claims not to be automated": {write: func(a *scenario.Attempt) { a.After.Operation.InitiatedBy.Automated = false }},
		"comes from the ApplicationSet controller's account": {
			user: scenario.ApplicationSetController, wantInitiator: "applicationset",
		},
		"comes from the application controller's account": {user: scenario.ApplicationController, wantInitiator: "controller"},
		"claims a bypass for a user on the list, with kubectl": {
			write:     askBypass("alice"),
			wantAudit: "bypass=INC-1 not honoured: kubernetes-admin is not argocd-server",
		},
		"claims a bypass through argocd-server, for a user who is not on the list": {
			user: scenario.ArgoCDServer, write: askBypass("Alice"), wantInitiator: "server",
			wantAudit: `bypass=INC-1 not honoured: user "Alice" may not bypass (--bypass-user)`,
		},
		"claims a bypass from an account whose name begins like argocd-server's": {
			user: scenario.ArgoCDServer + "2", write: askBypass("alice"),
			wantAudit: "bypass=INC-1 not honoured: " + scenario.ArgoCDServer + "2 is not argocd-server",
		},
		"carries the ApplicationSet's annotations itself": {write: func(a *scenario.Attempt) {
			for _, app := range []*argo.Application{a.Before, a.After} {
				app.Annotations = map[string]string{
					settings.ModeAnnotation: "off", settings.RequireAnnotation: "health",
					settings.BypassAnnotation: inAnHour + " INC-1",
				}
			}
		}},
		"asks for a refresh of itself": {write: func(a *scenario.Attempt) {
			a.After.Annotations = map[string]string{argo.AnnotationKeyRefresh: "normal"}
		}},
		"an automated rollback": {wantInitiator: "server", write: func(a *scenario.Attempt) {
			rollback(a)
			a.After.Operation.InitiatedBy.Automated = true
		}},
		"a rollback to what it is compared with now": {wantInitiator: "server", write: func(a *scenario.Attempt) {
			rollback(a)
			a.Before.Status.Sync.Revision, a.Before.Status.Sync.ComparedTo.Source = a.After.Operation.Sync.Revision,
				*a.After.Operation.Sync.Source
		}},
		"a rollback without its source": {wantInitiator: "server", unpinned: true, write: func(a *scenario.Attempt) {
			rollback(a)
			a.After.Operation.Sync.Source = nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bypass, note := "", ""
			if tc.wantAudit != "" {
				bypass = tc.wantAudit + "; "
				note = " (bypass " + strings.TrimPrefix(tc.wantAudit, "bypass=") + ")"
			}
			initiator := "other"
			if tc.wantInitiator != "" {
				initiator = tc.wantInitiator
			}
			row{
				scenario: blocked, unpinned: tc.unpinned,
				// Two other ApplicationSets of the attacker's choice. A rollback is judged by health alone, so that one
				// text fits all.
				config: func(c *settings.Config) { c.Require = policy.RequireHealth },
				cluster: func(c *scenario.Cluster) {
					off, audited := scenario.RollingSync("off", "1", "2", "3"), scenario.RollingSync("audited", "1", "2", "3")
					annotated(settings.ModeAnnotation, "off")(off)
					annotated(settings.ModeAnnotation, "audit")(audited)
					c.Sets = append(c.Sets, off, audited)
				},
				write: func(a *scenario.Attempt) {
					a.User = "kubernetes-admin"
					if tc.write != nil {
						tc.write(a)
					}
					if tc.user != "" {
						a.User = tc.user
					}
				},
				wantCode: 403, wantMessage: qaDegraded + note, wantCauses: []string{"qa NotHealthy Degraded"},
				wantAudit:  "applicationset=argocd/guestbook; blockers=qa=NotHealthy; " + bypass + "decision=deny; mode=enforce; reason=NotHealthy; step=3",
				wantMetric: "deny NotHealthy enforce " + initiator,
				wantEvent:  "Warning SyncDenied DenySync Application/prod/prod-uid related qa: " + qaDegraded + note,
			}.run(t)
		})
	}
}

func askBypass(initiatedBy string) func(*scenario.Attempt) {
	return func(a *scenario.Attempt) {
		a.After.Operation.InitiatedBy = argo.OperationInitiator{Username: initiatedBy}
		a.After.Operation.Info = []*argo.Info{{Name: settings.BypassInfo, Value: "INC-1"}}
	}
}

// A step whose operator nobody knows selects what lacks its key, and nothing that has it, as upstream's own code does.
func TestUnknownOperatorOpensNoStep(t *testing.T) {
	unknown := func(set *argo.ApplicationSet) {
		set.Spec.Strategy.RollingSync.Steps[0].MatchExpressions[0].Operator = "Exists"
	}
	for name, tc := range map[string]row{
		"the step before is empty, the one between is judged": {
			scenario: blocked, set: unknown, wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"},
			wantAudit: qaDegradedAudit, wantMetric: "deny NotHealthy enforce applicationset", wantEvent: qaDegradedEvent,
		},
		"dropping the key in the same write does not move the target to the first step": {
			scenario: blocked, set: unknown, write: func(a *scenario.Attempt) { a.After.Labels = nil },
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"},
			wantAudit: qaDegradedAudit, wantMetric: "deny NotHealthy enforce applicationset", wantEvent: qaDegradedEvent,
		},
	} {
		t.Run(name, tc.run)
	}
}
