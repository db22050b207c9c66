// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// targetRows are operations that are denied or allowed for what the target itself is.
func targetRows() map[string]row {
	refused := func(scenario string, reason policy.Reason, message string) row {
		return row{
			scenario: scenario, wantReason: reason, wantSettled: true,
			wantMessage: "step 2 of ApplicationSet argocd/guestbook may not sync yet: prod (" + message,
		}
	}
	notPinned := "NotPinned: the operation is not pinned to a revision and its sources, and would deploy the newest " +
		"when it starts). " +
		"Next: check that stepgate's MutatingWebhookConfiguration exists and that its Pods are ready"
	notCompared := "ContentUnknown: Argo CD has not compared it with its new spec). Next: wait until Argo CD has " +
		"compared prod"
	foreign := "ContentUnknown: the operation brings manifests or sources of its own, which no earlier step has). " +
		"Next: bring the change to Git, where it passes the earlier steps, or bypass stepgate for this sync"
	dying := "TargetDeleting: it is being deleted, and a sync would create again what the deletion removes). " +
		"Next: wait until prod is deleted; if it stays, look at its finalizers"
	heal := func(scenario string) row {
		return row{
			scenario: scenario, wantOutcome: policy.Allow, wantReason: policy.SelfHeal, wantMessage: "allow (SelfHeal)", wantSettled: true,
		}
	}
	rows := map[string]row{
		"no revision":                                    refused("1:dev > 2:prod,auto", policy.NotPinned, notPinned),
		"no revision, by somebody":                       allowed("1:dev > 2:prod"),
		"a revision":                                     allowed("1:dev > 2:prod,auto,pinned"),
		"spec and operation in one patch":                refused("1:dev > 2:prod,auto,respec", policy.ContentUnknown, notCompared),
		"spec and a pinned operation in one patch":       refused("1:dev > 2:prod,auto,pinned,respec", policy.ContentUnknown, notCompared),
		"spec and operation in one patch, by somebody":   refused("1:dev > 2:prod,respec", policy.ContentUnknown, notCompared),
		"it is being deleted":                            refused("1:dev > 2:prod,auto,pinned,dying", policy.TargetDeleting, dying),
		"it is being deleted, in the first step":         {scenario: "> 1:prod,auto,dying", wantReason: policy.TargetDeleting, wantSettled: true, wantMessage: "step 1 of ApplicationSet argocd/guestbook may not sync yet: prod (" + dying},
		"it is being deleted, and somebody syncs it":     allowed("1:dev > 2:prod,dying"),
		"content of its own":                             refused("1:dev > 2:prod,foreign", policy.ContentUnknown, foreign),
		"content of its own, named and automated":        refused("1:dev > 2:prod,auto,pinned,foreign", policy.ContentUnknown, foreign),
		"the sources of an older sync, by somebody":      {scenario: "1:dev=Degraded@c > 2:prod@b,foreign,back", wantOutcome: policy.Allow, wantReason: policy.Rollback, wantMessage: "allow (Rollback)", wantSettled: true},
		"content of its own in the first step":           {scenario: "> 1:prod,foreign", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)", wantSettled: true},
		"the first step needs no revision":               {scenario: "> 1:prod,auto", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)", wantSettled: true},
		"the first step of what comes after others":      {scenario: "> 1:prod,auto", settings: policy.Settings{Follows: true}, wantReason: policy.NotPinned, wantSettled: true, wantMessage: "step 1 of ApplicationSet argocd/guestbook may not sync yet: prod (" + notPinned},
		"that, with a revision":                          {scenario: "> 1:prod,auto,pinned", settings: policy.Settings{Follows: true}, wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)"},
		"what is deployed may be deployed again":         heal("1:dev=Degraded@c > 2:prod@b,heal,auto,pinned"),
		"what is deployed, by somebody":                  heal("1:dev=Degraded@c > 2:prod@b,heal"),
		"what was seen deployed, without a sync":         heal("1:dev=Degraded@c > 2:prod@b,pinned,deployed,auto"),
		"that, and the operation is not pinned":          {scenario: "1:dev=Degraded@c > 2:prod@b,deployed", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"},
		"what is deployed, with a new spec":              refused("1:dev=Degraded > 2:prod,heal,respec", policy.ContentUnknown, notCompared),
		"what is deployed, to another destination":       {scenario: "1:dev=Degraded > 2:prod,heal,moved", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"},
		"what is deployed, if that is known to be so":    {scenario: "1:dev=Degraded > 2:prod,heal,unproven", settings: policy.Settings{Stamped: true}, wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"},
		"an Application that is excluded does not count": excluded("1:dev=Degraded 1:qa > 2:prod", "dev"),
		"an excluded Application need not exist":         excluded("1:qa > 2:prod | dev/1", "dev"),
		"moved to an earlier step by its ApplicationSet": {scenario: "2:qa=Healthy/OutOfSync > 1:x=Healthy/OutOfSync,was:3,auto,pinned | x/1/50", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)", wantSettled: true},
		"moved to an earlier step, still recorded in the old": {
			scenario: "2:qa=Healthy/OutOfSync > 1:x=Healthy/OutOfSync,was:3,auto,pinned | x/3/50", wantReason: policy.NotCompleted, wantBlockers: "2:qa=NotCompleted",
			wantMessage: "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 2 is not done: qa (NotCompleted: OutOfSync). Next: sync qa first: argocd app sync qa",
		},
	}
	for name, r := range trainRows() {
		rows[name] = r
	}
	return rows
}

func excluded(scenario, name string) row {
	r := allowed(scenario)
	r.settings.Excluded = map[string]bool{name: true}
	return r
}

// trainRows let a target deploy what the earlier steps have completed, while they are on their way to something newer.
func trainRows() map[string]row {
	on := func(r row) row { r.settings = policy.Settings{Candidates: true}; return r }
	stopped := func(scenario string, reason policy.Reason, message string) row {
		return on(row{
			scenario: scenario, wantReason: reason, wantBlockers: "1:dev=" + string(reason), wantMessage: one + message,
		})
	}
	return map[string]row{
		"it has completed it and syncs the next":      on(allowed("1:dev=Progressing/OutOfSync@c,op,running,ran:a+b > 2:prod@b,auto,pinned")),
		"it has completed it and failed at the next":  stopped("1:dev@c,failed:50,ran:a+b > 2:prod@b,auto,pinned", policy.OperationFailed, "(OperationFailed: Failed). Next: sync dev again: argocd app sync dev"),
		"it has completed it and is broken by now":    stopped("1:dev=Degraded@c,ran:a+b > 2:prod@b,auto,pinned", policy.NotHealthy, "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"),
		"it has completed it, and is asked to sync":   on(allowed("1:dev@b,op,refresh,synced:50,ran:b > 2:prod@b,auto,pinned")),
		"synced, and not seen to be completed":        stopped("1:dev@b,op,synced:50 > 2:prod@b,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"completed, and not compared since":           stopped("1:dev@b,op,synced:100 > 2:prod@b,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"it ran it, and was never done with it":       stopped("1:dev@c,op,ran:a+b,incomplete > 2:prod@b,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"a user has tried it on it":                   stopped("1:dev@c,op,ran:a,tried:b > 2:prod@b,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"it syncs that very revision":                 stopped("1:dev@b,op,ran:a > 2:prod@b,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"it has skipped it and syncs the next":        stopped("1:dev@c,op,ran:a > 2:prod@b,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"it has gone back":                            stopped("1:dev@a,op,ran:a+b > 2:prod@b,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"the change is in a source that it lacks":     stopped("1:dev@c,op,ran:b > 2:prod@b+lib:x,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"the target changes nothing else":             on(allowed("1:dev@c,op,ran:a+b > 2:prod@c,wants:b,ran:a,auto,pinned")),
		"the target changes a parameter, too":         stopped("1:dev@c,op,ran:a+b > 2:prod@c,wants:b,ran:a,respecified,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"it changes a parameter at what is newest":    stopped("1:dev@c,op,ran:a+b > 2:prod@b,ran:a,respecified,auto,pinned", policy.OperationInProgress, "(OperationInProgress). Next: wait until the operation of dev has ended"),
		"without the train, it has to have completed": {scenario: "1:dev@c,op,ran:a+b > 2:prod@b,auto,pinned", wantReason: policy.OperationInProgress, wantBlockers: "1:dev=OperationInProgress", wantMessage: one + "(OperationInProgress). Next: wait until the operation of dev has ended"},
	}
}

// TestSyncedUntilAnOperation lets an Application be operated since it was seen Synced.
func TestSyncedUntilAnOperation(t *testing.T) {
	g := NewWithT(t)
	in := scenario("1:dev=Healthy/OutOfSync@b,syncedold:50,insync:b > 2:prod@b")
	g.Expect(policy.Evaluate(in).Outcome).To(Equal(policy.Allow))
	in.Siblings[0].LastOperation.StartedAt = second("55")
	g.Expect(policy.Evaluate(in).Reason).To(Equal(policy.NotCompleted))
}

// driftRows tell drift, which holds nobody up, from a change that was not deployed.
func driftRows() map[string]row {
	deny := func(scenario string) row {
		return row{
			scenario: scenario, wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted",
			wantMessage: one + "(NotCompleted: OutOfSync). Next: sync dev first: argocd app sync dev",
		}
	}
	return map[string]row{
		"drift after a commit that did not touch it":        allowed("1:dev=Healthy/OutOfSync@b,syncedold:50 > 2:prod@b | dev/1/60@b"),
		"the same, recorded in the second of its last sync": deny("1:dev=Healthy/OutOfSync@b,syncedold:50 > 2:prod@b | dev/1/50@b"),
		"drift of what was seen Synced without a sync":      allowed("1:dev=Healthy/OutOfSync@b,syncedold:50,insync:b > 2:prod@b"),
		"it was seen Synced with another commit":            deny("1:dev=Healthy/OutOfSync@b,syncedold:50,insync:a > 2:prod@b"),
		"it has other sources since":                        deny("1:dev=Healthy/OutOfSync@b,syncedelse:50,insync:b > 2:prod@b"),
		"a commit that the controller has not found Synced": deny("1:dev=Healthy/OutOfSync@b,syncedold:50 > 2:prod@b | dev/1/60"),
		"the controller found another commit Synced":        deny("1:dev=Healthy/OutOfSync@b,syncedold:50 > 2:prod@b | dev/1/60@a"),
		"other sources than those that were deployed":       deny("1:dev=Healthy/OutOfSync@b,syncedelse:50 > 2:prod@b | dev/1/60@b"),
		"recorded, and something else was synced since":     deny("1:dev=Healthy/OutOfSync@b,syncedold:70 > 2:prod@b | dev/1/60@b"),
		"recorded, and a sync has failed since":             deny("1:dev=Healthy/OutOfSync@b,syncedold:50,failed:70,elsewhere > 2:prod@b | dev/1/60@b"),
		"two sources, recorded at both":                     allowed("1:dev=Healthy/OutOfSync@b+lib:x,syncedold:50 > 2:prod@b+lib:x | dev/1/60@b+lib:x"),
		"two sources, recorded at another":                  deny("1:dev=Healthy/OutOfSync@b+lib:x,syncedold:50 > 2:prod@b+lib:x | dev/1/60@b+lib:w"),
		"more recorded than compared":                       deny("1:dev=Healthy/OutOfSync@b,syncedold:50 > 2:prod@b | dev/1/60@b+lib:w"),
		"a new destination is no drift":                     deny("1:dev=Healthy/OutOfSync,synced:50,moved > 2:prod"),
	}
}
