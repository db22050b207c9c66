// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// row is one scenario and all that is wanted of its Decision.
type row struct {
	scenario string
	settings policy.Settings
	// edit makes what a scenario cannot spell.
	edit         func(*policy.Input)
	wantOutcome  policy.Outcome
	wantReason   policy.Reason
	wantBlockers string
	wantMessage  string
	// wantSettled says that Scope alone answers.
	wantSettled bool
}

func TestEvaluate(t *testing.T) {
	for name, row := range rows() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := row.input()
			d := policy.Evaluate(in)
			g.Expect(d.Outcome).To(Equal(row.wantOutcome))
			g.Expect(d.Reason).To(Equal(row.wantReason))
			g.Expect(written(d.Blockers)).To(Equal(row.wantBlockers))
			g.Expect(d.Message()).To(Equal(row.wantMessage))

			scope, settled := policy.Scope(in)
			g.Expect(settled).To(Equal(row.wantSettled))
			if settled {
				g.Expect(scope).To(Equal(d), "what Scope settles, Evaluate does not change")
			}
		})
	}
}

func (r row) input() policy.Input {
	in := scenario(r.scenario)
	in.Settings = r.settings
	if r.edit != nil {
		r.edit(&in)
		inSteps(&in)
	}
	return in
}

// rows are the rows of all tables, by their sentence.
func rows() map[string]row {
	all := map[string]row{}
	for _, table := range []map[string]row{
		scopeRows(), labelRows(), blockerRows(), siblingRows(), revisionRows(), freshRows(), messageRows(), provenRows(),
		targetRows(), driftRows(), settlingRows(), leftRows(),
		pauseRows(), soakRows(), approvalRows(), failureRows(), windowRows(), slotRows(),
		evidenceRows(), reportedRows(),
	} {
		for name := range maps.Keys(table) {
			if _, twice := all[name]; twice {
				panic("two rows are called: " + name)
			}
		}
		maps.Copy(all, table)
	}
	return all
}

// scopeRows ask whether a write is gated at all. Every one has a blocker waiting, which must not be reached.
func scopeRows() map[string]row {
	return settled(map[string]row{
		"no operation is written":                     {scenario: "1:dev=Degraded > 3:prod,none", wantOutcome: policy.NotGated, wantReason: policy.NotAnOperationWrite, wantMessage: "not_gated (NotAnOperationWrite)"},
		"a dry run deploys nothing":                   {scenario: "1:dev=Degraded > 3:prod,dryrun", wantOutcome: policy.NotGated, wantReason: policy.DryRunOperation, wantMessage: "not_gated (DryRunOperation)"},
		"no ApplicationSet controls the target":       {scenario: "1:dev=Degraded > 3:prod,unmanaged", wantOutcome: policy.NotGated, wantReason: policy.NotManaged, wantMessage: "not_gated (NotManaged)"},
		"no operation comes before a dry run":         {scenario: "1:dev=Degraded > 3:prod,none,dryrun,unmanaged | gone", wantOutcome: policy.NotGated, wantReason: policy.NotAnOperationWrite, wantMessage: "not_gated (NotAnOperationWrite)"},
		"the ApplicationSet is gone":                  {scenario: "1:dev=Degraded > 3:prod | gone", wantOutcome: policy.NotGated, wantReason: policy.ApplicationSetNotFound, wantMessage: "not_gated (ApplicationSetNotFound)"},
		"the strategy is another one":                 {scenario: "1:dev=Degraded > 3:prod | other", wantOutcome: policy.NotGated, wantReason: policy.NotRollingSync, wantMessage: "not_gated (NotRollingSync)"},
		"the strategy has no steps":                   {scenario: "1:dev=Degraded > 3:prod | empty", wantOutcome: policy.NotGated, wantReason: policy.NotRollingSync, wantMessage: "not_gated (NotRollingSync)"},
		"the gate is off":                             {scenario: "1:dev=Degraded > 3:prod", settings: policy.Settings{Off: true}, wantOutcome: policy.NotGated, wantReason: policy.GateOff, wantMessage: "not_gated (GateOff)"},
		"the gate is bypassed":                        {scenario: "1:dev=Degraded > 3:prod", settings: policy.Settings{Bypassed: true}, wantOutcome: policy.NotGated, wantReason: policy.Bypassed, wantMessage: "not_gated (Bypassed)"},
		"off comes before bypassed":                   {scenario: "1:dev=Degraded > 3:prod", settings: policy.Settings{Off: true, Bypassed: true}, wantOutcome: policy.NotGated, wantReason: policy.GateOff, wantMessage: "not_gated (GateOff)"},
		"no step selects the target":                  {scenario: "1:dev=Degraded > 0:prod", wantOutcome: policy.NotGated, wantReason: policy.NotSelected, wantMessage: "not_gated (NotSelected)"},
		"the first step waits for nobody":             {scenario: "1:dev=Degraded 2:qa=Degraded > 1:prod", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)"},
		"the first step comes before a rollback":      {scenario: "1:dev=Degraded > 1:prod,back", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)"},
		"somebody rolls back":                         {scenario: "1:dev=Degraded > 3:prod,back", wantOutcome: policy.Allow, wantReason: policy.Rollback, wantMessage: "allow (Rollback)"},
		"a rollback of an unselected one is no Allow": {scenario: "1:dev=Degraded > 0:prod,back", wantOutcome: policy.NotGated, wantReason: policy.NotSelected, wantMessage: "not_gated (NotSelected)"},
	}, map[string]row{
		"an automated rollback is a sync like any other": {
			scenario: "1:dev=Degraded > 3:prod,back,auto,pinned", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
			wantMessage: "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		},
		"somebody rolls back to a new destination": {
			scenario: "1:dev=Degraded > 3:prod,back,moved", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
			wantMessage: "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		},
		"a target that is being deleted is gated like any other": {
			scenario: "1:dev=Degraded > 3:prod,deleting", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
			wantMessage: "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		},
		"a rollback where rollbacks are gated": {
			scenario: "1:dev=Degraded > 3:prod,back", settings: policy.Settings{GateRollbacks: true}, wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
			wantMessage: "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		},
		"a rollback where rollbacks are gated and all is done": {
			scenario: "1:dev > 3:prod,back", settings: policy.Settings{GateRollbacks: true}, wantOutcome: policy.Allow, wantReason: policy.EarlierStepsDone, wantMessage: "allow (EarlierStepsDone)",
		},
	})
}

// settled joins rows that Scope settles with rows that it does not.
func settled(yes, no map[string]row) map[string]row {
	for name, row := range yes {
		row.wantSettled = true
		yes[name] = row
	}
	maps.Copy(yes, no)
	return yes
}

// TestRelevantSettlesWithoutTheApplicationSet asks what is decided before anything is read.
func TestRelevantSettlesWithoutTheApplicationSet(t *testing.T) {
	early := map[policy.Reason]bool{
		policy.NotAnOperationWrite: true, policy.DryRunOperation: true, policy.NotManaged: true,
	}
	for name, row := range rows() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, settled := policy.Relevant(row.input().Target)
			g.Expect(settled).To(Equal(early[row.wantReason]))
			g.Expect(d.Step).To(Equal(-1))
			if settled {
				g.Expect(d.Outcome).To(Equal(policy.NotGated))
				g.Expect(d.Reason).To(Equal(row.wantReason))
			} else {
				g.Expect(d.Outcome).To(Equal(policy.Deny), "a Decision that is not final must not admit anything")
			}
		})
	}
}

// TestTheDeletionOfAnApplicationSetIsNoWayRound the gate: with deletionOrder Reverse it lasts for as long as one of its
// Applications is not gone. What is being deleted, or gone, holds nobody up, and nobody is left who would create it again.
func TestTheDeletionOfAnApplicationSetIsNoWayRound(t *testing.T) {
	const step3 = "step 3 of ApplicationSet argocd/guestbook may not sync yet: "
	for text, want := range map[string]string{
		"1:dev=Degraded > 3:prod | deleting": step3 + "1 Application of step 1 is not done: dev (NotHealthy: Degraded). " +
			"Next: wait until dev is Healthy, or repair it",
		"1:dev=Degraded,deleting 2:qa > 3:prod | deleting": "allow (EarlierStepsDone)",
		"2:qa > 3:prod | dev/1 deleting":                   "allow (EarlierStepsDone)",
		"1:dev > 3:prod,auto,dying | deleting": step3 + "prod (TargetDeleting: it is being deleted, and a sync would create " +
			"again what the deletion removes). Next: wait until prod is deleted; if it stays, look at its finalizers",
		"1:dev=Degraded > 1:qa | deleting": "allow (FirstStep)",
	} {
		NewWithT(t).Expect(policy.Evaluate(scenario(text)).Message()).To(Equal(want), text)
	}
}
