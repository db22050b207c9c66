package webhook

import (
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// What somebody who may write Applications could try in order to get past the gate, in one write.

func TestAdversarialWritesAreDenied(t *testing.T) {
	for name, tc := range map[string]struct {
		user  string
		write func(*attempt)
		// wantAudit is left out where it is the usual one.
		wantAudit string
		// wantInitiator is left out where it is "other".
		wantInitiator string
	}{
		"a plain operation with kubectl": {},
		"an operation on CREATE":         {write: func(a *attempt) { a.before = nil; a.after.UID = "prod-uid" }},
		"an operation that replaces another one": {write: func(a *attempt) {
			a.before.Operation = &argo.Operation{Sync: &argo.SyncOperation{Revision: commit("a")}}
		}},
		"a real sync that replaces a dry run": {write: func(a *attempt) {
			a.before.Operation = a.after.Operation.DeepCopy()
			a.before.Operation.Sync.DryRun = true
		}},
		"an operation that differs in its info only": {write: func(a *attempt) {
			a.before.Operation = a.after.Operation.DeepCopy()
			a.after.Operation.Info[0].Value = "again"
		}},
		"an operation that syncs nothing": {write: func(a *attempt) { a.after.Operation = &argo.Operation{} }},
		"an operation on some resources only": {write: func(a *attempt) {
			a.after.Operation.Sync.Resources = []argo.SyncOperationResource{{Kind: "ConfigMap", Name: "one"}}
		}},
		"the label moved to an earlier step": {write: func(a *attempt) {
			a.after.Labels["step"] = "1"
		}},
		"the label moved to no step": {write: func(a *attempt) { a.after.Labels["step"] = "none" }},
		"the labels removed":         {write: func(a *attempt) { a.after.Labels = nil }},
		"the label moved to a later step": {write: func(a *attempt) {
			a.before = a.before.DeepCopy()
			a.before.Labels["step"] = "1"
		}},
		"the labels added": {write: func(a *attempt) {
			a.before = a.before.DeepCopy()
			a.before.Labels = nil
		}},
		"the ownerReference stripped": {write: func(a *attempt) { a.after.OwnerReferences = nil }},
		"the ownerReference added": {write: func(a *attempt) {
			a.before = a.before.DeepCopy()
			a.before.OwnerReferences = nil
		}},
		"the controller flag flipped":   {write: func(a *attempt) { a.after.OwnerReferences[0].Controller = ptr.To(false) }},
		"the controller flag removed":   {write: func(a *attempt) { a.after.OwnerReferences[0].Controller = nil }},
		"the owner's kind changed":      {write: func(a *attempt) { a.after.OwnerReferences[0].Kind = "applicationset" }},
		"the owner's group changed":     {write: func(a *attempt) { a.after.OwnerReferences[0].APIVersion = "example.com/v1" }},
		"the owner's version changed":   {write: func(a *attempt) { a.after.OwnerReferences[0].APIVersion = "argoproj.io/v1" }},
		"the owner's UID changed":       {write: func(a *attempt) { a.after.OwnerReferences[0].UID = "another" }},
		"the owner's name changed":      {write: func(a *attempt) { a.after.OwnerReferences[0].Name = "another" }},
		"re-pointed to a nonexistent":   {write: func(a *attempt) { a.after.OwnerReferences[0] = ownedBy("nonexistent") }},
		"re-pointed to one that is off": {write: func(a *attempt) { a.after.OwnerReferences[0] = ownedBy("off") }},
		"re-pointed from one that is off": {write: func(a *attempt) {
			a.before = a.before.DeepCopy()
			a.before.OwnerReferences[0] = ownedBy("off")
		}},
		"re-pointed to one in audit mode": {write: func(a *attempt) { a.after.OwnerReferences[0] = ownedBy("audited") }},
		"re-pointed from one in audit mode": {write: func(a *attempt) {
			a.before = a.before.DeepCopy()
			a.before.OwnerReferences[0] = ownedBy("audited")
		}},
		"another owner that does not control": {write: func(a *attempt) {
			other := ownedBy("off")
			other.Controller = nil
			a.after.OwnerReferences = append([]metav1.OwnerReference{other}, a.after.OwnerReferences...)
		}},
		"claims to be the ApplicationSet controller": {write: func(a *attempt) {
			a.after.Operation.InitiatedBy = argo.OperationInitiator{Username: "applicationset-controller", Automated: true}
		}},
		"claims not to be automated": {write: func(a *attempt) { a.after.Operation.InitiatedBy.Automated = false }},
		"comes from the ApplicationSet controller's account": {
			user: appSetAccount, wantInitiator: "applicationset",
		},
		"comes from the application controller's account": {user: controllerUser, wantInitiator: "controller"},
		"claims a bypass for a user on the list, with kubectl": {
			write:     askBypass("alice"),
			wantAudit: "bypass=INC-1 not honoured: kubernetes-admin is not argocd-server",
		},
		"claims a bypass through argocd-server, for a user who is not on the list": {
			user: argocdServer, write: askBypass("Alice"), wantInitiator: "server",
			wantAudit: `bypass=INC-1 not honoured: user "Alice" may not bypass (--bypass-user)`,
		},
		"claims a bypass from an account whose name begins like argocd-server's": {
			user: argocdServer + "2", write: askBypass("alice"),
			wantAudit: "bypass=INC-1 not honoured: " + argocdServer + "2 is not argocd-server",
		},
		"carries the ApplicationSet's annotations itself": {write: func(a *attempt) {
			for _, app := range []*argo.Application{a.before, a.after} {
				app.Annotations = map[string]string{
					settings.ModeAnnotation: "off", settings.RequireAnnotation: "health", settings.BypassUntilAnnotation: inAnHour, settings.BypassReasonAnnotation: "INC-1",
				}
			}
		}},
		"asks for a refresh of itself": {write: func(a *attempt) {
			a.after.Annotations = map[string]string{argo.AnnotationKeyRefresh: "normal"}
		}},
		"an automated rollback": {wantInitiator: "server", write: func(a *attempt) {
			rollback(a)
			a.after.Operation.InitiatedBy.Automated = true
		}},
		"a rollback to what it is compared with now": {wantInitiator: "server", write: func(a *attempt) {
			rollback(a)
			a.before.Status.Sync.Revision, a.before.Status.Sync.ComparedTo.Source = a.after.Operation.Sync.Revision, *a.after.Operation.Sync.Source
		}},
		"a rollback without its source": {wantInitiator: "server", write: func(a *attempt) {
			rollback(a)
			a.after.Operation.Sync.Source = nil
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
				scenario: blocked,
				// Two other ApplicationSets of the attacker's choice. A rollback is judged by health alone, so that one
				// text fits all.
				config: func(c *settings.Config) { c.Require = policy.RequireHealth },
				cluster: func(c *cluster) {
					off, audited := rollingSync("off", "1", "2", "3"), rollingSync("audited", "1", "2", "3")
					annotated(settings.ModeAnnotation, "off")(off)
					annotated(settings.ModeAnnotation, "audit")(audited)
					c.sets = append(c.sets, off, audited)
				},
				write: func(a *attempt) {
					a.user = "kubernetes-admin"
					if tc.write != nil {
						tc.write(a)
					}
					if tc.user != "" {
						a.user = tc.user
					}
				},
				wantCode: 403, wantMessage: qaDegraded + note, wantCauses: []string{"qa NotHealthy Degraded"},
				wantAudit:  "applicationset=argocd/guestbook; blockers=qa=NotHealthy; " + bypass + "decision=deny; mode=enforce; reason=NotHealthy; step=3",
				wantMetric: "deny NotHealthy enforce " + initiator,
				wantEvent:  eventRegarding(name) + " related qa: " + qaDegraded + note,
			}.run(t)
		})
	}
}

// eventRegarding is the ApplicationSet for a CREATE, else the Application.
func eventRegarding(name string) string {
	if name == "an operation on CREATE" {
		return "Warning SyncDenied DenySync ApplicationSet/guestbook/guestbook-uid"
	}
	return "Warning SyncDenied DenySync Application/prod/prod-uid"
}

func askBypass(initiatedBy string) func(*attempt) {
	return func(a *attempt) {
		a.after.Operation.InitiatedBy = argo.OperationInitiator{Username: initiatedBy}
		a.after.Operation.Info = []*argo.Info{{Name: settings.BypassInfo, Value: "INC-1"}}
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
			scenario: blocked, set: unknown, write: func(a *attempt) { a.after.Labels = nil },
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"},
			wantAudit: qaDegradedAudit, wantMetric: "deny NotHealthy enforce applicationset", wantEvent: qaDegradedEvent,
		},
	} {
		t.Run(name, tc.run)
	}
}
