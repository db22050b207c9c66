// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	// blocked is a scenario in which prod may not sync yet.
	blocked = "1:dev=Healthy 2:qa=Degraded 3:prod=Healthy"
	// open is a scenario in which prod may sync.
	open = "1:dev=Healthy 2:qa=Healthy 3:prod=Healthy"

	qaDegraded = "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 2 is not " +
		"done: qa (NotHealthy: Degraded). Next: wait until qa is Healthy, or repair it"
	notPinned = "step 3 of ApplicationSet argocd/guestbook may not sync yet: prod (NotPinned: the operation is not " +
		"pinned to a revision and its sources, and would deploy the newest when it starts). Next: check that stepgate's " +
		"MutatingWebhookConfiguration exists and that its Pods are ready"
	neverCompared = "step 3 of ApplicationSet argocd/guestbook may not sync yet: prod (ContentUnknown: Argo CD has " +
		"not compared it with its new spec). Next: wait until Argo CD has compared prod"
	qaDegradedAudit = "applicationset=argocd/guestbook; blockers=qa=NotHealthy; decision=deny; mode=enforce; " +
		"reason=NotHealthy; step=3"
	qaDegradedEvent = "Warning SyncDenied DenySync Application/prod/prod-uid related qa: " + qaDegraded

	cannotDecide = "stepgate cannot decide: it could not read the ApplicationSet and its Applications from the API " +
		"server in time; see stepgate's log"
	readFailed = "get ApplicationSet argocd/guestbook: etcdserver: request timed out"
)

func TestHandle(t *testing.T) {
	for name, tc := range map[string]row{
		"an earlier Application that is not done denies": {
			scenario: blocked,
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"}, wantAudit: qaDegradedAudit,
			wantMetric: "deny NotHealthy enforce applicationset", wantEvent: qaDegradedEvent,
		},
		"all blockers are causes, three are named": {
			scenario: "1:dev=Missing 1:eu=Degraded 1:us=Progressing 2:qa=Suspended 3:prod=Healthy",
			wantCode: 403,
			wantMessage: "step 3 of ApplicationSet argocd/guestbook may not sync yet: 4 Applications of steps 1 and 2 are not done: " +
				"dev (NotHealthy: Missing), eu (NotHealthy: Degraded), us (NotHealthy: Progressing) and 1 more. Next: wait until dev is Healthy, or repair it",
			wantCauses: []string{"dev NotHealthy Missing", "eu NotHealthy Degraded", "us NotHealthy Progressing", "qa NotHealthy Suspended"},
			wantAudit:  "applicationset=argocd/guestbook; blockers=dev=NotHealthy,eu=NotHealthy,us=NotHealthy,qa=NotHealthy; decision=deny; mode=enforce; reason=NotHealthy; step=3",
			wantMetric: "deny NotHealthy enforce applicationset",
			wantEvent: "Warning SyncDenied DenySync Application/prod/prod-uid related dev: step 3 of ApplicationSet argocd/guestbook may not sync yet: 4 Applications of steps 1 and 2 are not done: " +
				"dev (NotHealthy: Missing), eu (NotHealthy: Degraded), us (NotHealthy: Progressing) and 1 more. Next: wait until dev is Healthy, or repair it",
		},
		"an earlier Application that was compared with another commit denies": {
			scenario: "1:dev=Healthy@a 2:qa=Healthy@b 3:prod=Healthy@b",
			wantCode: 403,
			wantMessage: "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: " +
				"dev (NotCompleted: compared to aaaaaaa, not bbbbbbb). Next: refresh dev: argocd app get dev --refresh",
			wantCauses: []string{"dev NotCompleted compared to aaaaaaa, not bbbbbbb"},
			wantAudit:  "applicationset=argocd/guestbook; blockers=dev=NotCompleted; decision=deny; mode=enforce; reason=NotCompleted; step=3",
			wantMetric: "deny NotCompleted enforce applicationset",
			wantEvent: "Warning SyncDenied DenySync Application/prod/prod-uid related dev: step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: " +
				"dev (NotCompleted: compared to aaaaaaa, not bbbbbbb). Next: refresh dev: argocd app get dev --refresh",
		},
		"earlier steps that are done allow": {
			scenario: open, wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=enforce; reason=EarlierStepsDone; step=3",
			wantMetric: "allow EarlierStepsDone enforce applicationset",
		},
		"the first step is allowed": {
			scenario: "1:prod=Healthy 1:qa=Degraded", wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=enforce; reason=FirstStep; step=1",
			wantMetric: "allow FirstStep enforce applicationset",
		},
		"an Application in no step is not gated": {
			scenario: "1:dev=Degraded 9:prod=Healthy", wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=not_gated; mode=enforce; reason=NotSelected",
			wantMetric: "not_gated NotSelected enforce applicationset",
		},
		"an Application without an ApplicationSet is not gated": {
			scenario: blocked, wantAllowed: true,
			write: func(a *scenario.Attempt) {
				a.Before.OwnerReferences, a.After.OwnerReferences, a.User = nil, nil, "kubernetes-admin"
			},
			wantAudit:  "decision=not_gated; mode=enforce; reason=NotManaged",
			wantMetric: "not_gated NotManaged enforce other",
		},
		"an owner that does not control is not an ApplicationSet's": {
			scenario: blocked, wantAllowed: true,
			write: func(a *scenario.Attempt) {
				for _, app := range []*argo.Application{a.Before, a.After} {
					app.OwnerReferences[0].Controller = ptr.To(false)
				}
			},
			wantAudit:  "decision=not_gated; mode=enforce; reason=NotManaged",
			wantMetric: "not_gated NotManaged enforce applicationset",
		},
		"an ApplicationSet that is gone does not gate": {
			scenario: blocked, wantAllowed: true,
			cluster:    func(c *scenario.Cluster) { c.Sets = nil },
			wantAudit:  "decision=not_gated; mode=enforce; reason=ApplicationSetNotFound",
			wantMetric: "not_gated ApplicationSetNotFound enforce applicationset",
		},
		"an ApplicationSet of the same name and another UID does not gate": {
			scenario: blocked, wantAllowed: true,
			set:        func(set *argo.ApplicationSet) { set.UID = "re-created" },
			wantAudit:  "decision=not_gated; mode=enforce; reason=ApplicationSetNotFound",
			wantMetric: "not_gated ApplicationSetNotFound enforce applicationset",
		},
		"an ApplicationSet without RollingSync does not gate": {
			scenario: blocked, wantAllowed: true,
			set:        func(set *argo.ApplicationSet) { set.Spec.Strategy.Type = "AllAtOnce" },
			wantAudit:  "applicationset=argocd/guestbook; decision=not_gated; mode=enforce; reason=NotRollingSync",
			wantMetric: "not_gated NotRollingSync enforce applicationset",
		},
		"an ApplicationSet that is being deleted gates": {
			scenario: blocked,
			set:      func(set *argo.ApplicationSet) { set.DeletionTimestamp = ptr.To(metav1.NewTime(scenario.Noon)) },
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"}, wantAudit: qaDegradedAudit,
			wantMetric: "deny NotHealthy enforce applicationset", wantEvent: qaDegradedEvent,
		},
		"a dry-run operation is not gated": {
			scenario: blocked, wantAllowed: true,
			write:      func(a *scenario.Attempt) { a.After.Operation.Sync.DryRun = true; a.User = scenario.ArgoCDServer },
			wantAudit:  "decision=not_gated; mode=enforce; reason=DryRunOperation",
			wantMetric: "not_gated DryRunOperation enforce server",
		},
		"an operation that does not change is no operation write": {
			scenario: blocked, wantAllowed: true,
			write: func(a *scenario.Attempt) {
				a.Before.Operation = a.After.Operation.DeepCopy()
				a.User = scenario.ApplicationController
			},
			wantAudit:  "decision=not_gated; mode=enforce; reason=NotAnOperationWrite",
			wantMetric: "not_gated NotAnOperationWrite enforce controller",
		},
		"removing the operation is no operation write": {
			scenario: blocked, wantAllowed: true,
			write:      func(a *scenario.Attempt) { a.Before, a.After = a.After, a.Before },
			wantAudit:  "decision=not_gated; mode=enforce; reason=NotAnOperationWrite",
			wantMetric: "not_gated NotAnOperationWrite enforce applicationset",
		},
		"a deletion is no operation write": {
			scenario: blocked, wantAllowed: true,
			write:      func(a *scenario.Attempt) { a.Before, a.After = a.After, nil },
			wantAudit:  "decision=not_gated; mode=enforce; reason=NotAnOperationWrite",
			wantMetric: "not_gated NotAnOperationWrite enforce applicationset",
		},
		"a rollback is allowed": {
			scenario: blocked, write: rollback, wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=enforce; reason=Rollback; step=3",
			wantMetric: "allow Rollback enforce server",
		},
		"a rollback is gated with --gate-rollbacks": {
			scenario: blocked, write: rollback,
			config:   func(c *settings.Config) { c.GateRollbacks, c.Require = true, policy.RequireHealth },
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"}, wantAudit: qaDegradedAudit,
			wantMetric: "deny NotHealthy enforce server", wantEvent: qaDegradedEvent,
		},
		"an Application created with an operation is gated, the Event goes to its ApplicationSet": {
			scenario: open,
			write:    func(a *scenario.Attempt) { a.Before = nil; a.After.UID = ""; a.User = "kubernetes-admin" },
			wantCode: 403, wantMessage: neverCompared,
			wantAudit:  "applicationset=argocd/guestbook; decision=deny; mode=enforce; reason=ContentUnknown; step=3",
			wantMetric: "deny ContentUnknown enforce other",
			wantEvent:  "Warning SyncDenied DenySync ApplicationSet/guestbook/guestbook-uid: " + neverCompared,
		},
		"a server dry-run gets the same answer and leaves nothing behind": {
			scenario: blocked,
			write:    func(a *scenario.Attempt) { a.DryRun = true },
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"}, wantAudit: qaDegradedAudit,
		},
		"a read error is no answer": {
			scenario: open, cluster: func(c *scenario.Cluster) { c.FailAt = 1 },
			wantCode: 503, wantMessage: cannotDecide,
			wantMetric: "error ReadError enforce applicationset",
			wantEvent:  "Warning SyncGateError EvaluateSync Application/prod/prod-uid: stepgate could not judge this sync: it could not read from the API server; see stepgate's log",
		},
		"a read error is admitted and recorded in audit mode": {
			scenario: open, cluster: func(c *scenario.Cluster) { c.FailAt = 1 }, config: audit, wantAllowed: true,
			wantAudit:    "decision=error; error=" + readFailed + "; mode=audit",
			wantWarnings: []string{"stepgate (audit mode): this sync could not be judged; see stepgate's log"},
			wantMetric:   "error ReadError audit applicationset",
			wantEvent:    "Warning SyncGateError EvaluateSync Application/prod/prod-uid: stepgate could not judge this sync: it could not read from the API server; see stepgate's log",
		},
	} {
		t.Run(name, tc.run)
	}
}

func audit(c *settings.Config) { c.Mode = settings.Audit }

// rollback turns a sync into what argocd-server writes for a rollback to the older of two entries of the history.
func rollback(a *scenario.Attempt) {
	source := *a.After.Spec.Source
	for _, app := range []*argo.Application{a.Before, a.After} {
		app.Status.History = argo.RevisionHistories{
			{ID: 1, Revision: scenario.Commit("0"), Source: source}, {ID: 2, Revision: scenario.Commit("a"), Source: source},
		}
	}
	a.User = scenario.ArgoCDServer
	a.After.Operation = &argo.Operation{
		Sync:        &argo.SyncOperation{Revision: scenario.Commit("0"), Source: &source, SyncStrategy: &argo.SyncStrategy{Apply: &argo.SyncStrategyApply{}}},
		InitiatedBy: argo.OperationInitiator{Username: "bob"},
	}
}
