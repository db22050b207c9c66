// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"

	"github.com/stepgate/stepgate/policy"
)

// labelRows are writes that edit the target's step label together with the operation.
func labelRows() map[string]row {
	degraded := "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev " +
		"(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"
	return settled(map[string]row{
		"neither step is later than the first":      {scenario: "1:dev=Degraded > 1:prod,was:0", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)"},
		"it was in no step, and still is":           {scenario: "1:dev=Degraded > 0:prod,was:0", wantOutcome: policy.NotGated, wantReason: policy.NotSelected, wantMessage: "not_gated (NotSelected)"},
		"it was in the first step, and is in none":  {scenario: "1:dev=Degraded > 0:prod,was:1", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)"},
		"it is being created, in the first step":    {scenario: "1:dev=Degraded > 1:prod,created", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)"},
		"it is being created, selected by no step":  {scenario: "1:dev=Degraded > 0:prod,created", wantOutcome: policy.NotGated, wantReason: policy.NotSelected, wantMessage: "not_gated (NotSelected)"},
		"recorded in a later step, seen in this":    {scenario: "1:dev=Degraded > 1:prod | prod/3", edit: seenIn("prod", 1), wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)"},
		"its labels were none at all, in the first": {scenario: "1:dev=Degraded > 1:prod", edit: func(in *policy.Input) { in.Target.OldLabels = map[string]string{} }, wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)"},
	}, map[string]row{
		"the old step is later":                 {scenario: "1:dev=Degraded > 1:prod,was:3", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: degraded},
		"the new step is later":                 {scenario: "1:dev=Degraded > 3:prod,was:1", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: degraded},
		"the old step selected it, the new not": {scenario: "1:dev=Degraded > 0:prod,was:3", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: degraded},
		"it is recorded in a later step":        {scenario: "1:dev=Degraded > 1:prod | prod/3", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: degraded},
		"the same, and labelled in none":        {scenario: "1:dev=Degraded > 0:prod | prod/3", edit: seenIn("prod", 1), wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: degraded},
		"it is recorded, and labelled in none":  {scenario: "1:dev=Degraded > 0:prod | prod/3", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: degraded},
		"it is created again in an earlier one": {scenario: "1:dev=Degraded > 1:prod,created | prod/3", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: degraded},
		"it comes into a step":                  {scenario: "1:dev=Degraded > 3:prod,was:0", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: degraded},
		"it is being created in a later step":   {scenario: "1:dev=Degraded > 3:prod,created", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: degraded},
		"the siblings between the two steps count": {
			scenario: "1:dev 2:qa=Degraded > 1:prod,was:3", wantReason: policy.NotHealthy, wantBlockers: "2:qa=NotHealthy",
			wantMessage: "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 2 is not done: qa (NotHealthy: Degraded). Next: wait until qa is Healthy, or repair it",
		},
	})
}

// siblingRows ask who counts as a sibling of an earlier step.
func siblingRows() map[string]row {
	admit := func(scenario string) row {
		return row{
			scenario: scenario, wantOutcome: policy.Allow, wantReason: policy.EarlierStepsDone, wantMessage: "allow (EarlierStepsDone)",
		}
	}
	notCreated := row{
		wantReason: policy.NotGenerated, wantBlockers: "1:dev=NotGenerated",
		wantMessage: "step 2 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev (NotGenerated: it does not exist yet). Next: wait until the ApplicationSet controller has created dev",
	}
	relabelled := func(scenario string) row {
		return row{
			scenario: scenario, wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
			wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		}
	}
	moved := func(r row, edit func(*policy.Input)) row { r.edit = edit; return r }
	absent := func(scenario string) row { r := notCreated; r.scenario = scenario; return r }
	return map[string]row{
		"siblings of the same step do not count":           admit("1:dev 2:other=Degraded > 2:prod"),
		"siblings of later steps do not count":             admit("1:dev 3:other=Degraded > 2:prod"),
		"siblings of no step do not count":                 admit("0:other=Degraded > 2:prod"),
		"the target is not its own sibling":                admit("1:dev 1:prod=Degraded,op > 2:prod"),
		"nor is it absent":                                 admit("1:dev > 2:prod | prod/1"),
		"a sibling that is being deleted":                  admit("1:dev=Degraded,deleting > 2:prod"),
		"a deleted sibling is not absent":                  admit("1:dev=Degraded,deleting > 2:prod | dev/1"),
		"a sibling that is not generated any more":         admit("1:dev=Degraded > 2:prod | dev/-1"),
		"absent, and not generated any more":               admit("> 2:prod | dev/-1"),
		"absent, of the same step":                         admit("> 2:prod | dev/2"),
		"absent, of a later step":                          admit("> 2:prod | dev/3"),
		"absent, with a step that is no number":            admit("> 2:prod | dev/0"),
		"recorded under an earlier step, live in a later":  relabelled("3:dev=Degraded > 2:prod | dev/1"),
		"the same, and the watch has seen it in the later": moved(admit("3:dev=Degraded > 2:prod | dev/1"), seenIn("dev", 3)),
		"the same, and the watch has not seen that yet":    moved(relabelled("3:dev=Degraded > 2:prod | dev/1"), seenIn("dev", 1)),
		"recorded under an earlier step, live in none":     relabelled("0:dev=Degraded > 2:prod | dev/1"),
		"live and recorded in later steps":                 admit("3:dev=Degraded > 2:prod | dev/2"),
		"absent":                                           absent("> 2:prod | dev/1"),
		"absent, while the target is recorded":             absent("> 2:prod | dev/1 prod/2/50"),
		"absent, although a namesake of the target's step": absent("2:other > 2:prod | dev/1 other/2"),
		"a sibling recorded under another step, and live": {
			scenario: "1:dev=Degraded > 2:prod | dev/3", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
			wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		},
		"the step before is done, the one before that is not": {
			scenario: "1:dev=Degraded 2:qa > 3:prod", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
			wantMessage: "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		},
		"the step before has nobody, the one before that is not done": {
			scenario: "1:dev=Degraded > 4:prod", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
			wantMessage: "step 4 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		},
	}
}

// messageRows ask that all blockers are reported, in order, and that the sentence survives any text.
func messageRows() map[string]row {
	return map[string]row{
		"all blockers are reported, by step and then by name": {
			scenario: "2:qa,op 1:z=Degraded 1:a=Healthy/OutOfSync > 3:prod", wantReason: policy.NotCompleted,
			wantBlockers: "1:a=NotCompleted 1:z=NotHealthy 2:qa=OperationInProgress",
			wantMessage:  "step 3 of ApplicationSet argocd/guestbook may not sync yet: 3 Applications of steps 1 and 2 are not done: a (NotCompleted: OutOfSync), z (NotHealthy: Degraded), qa (OperationInProgress). Next: sync a first: argocd app sync a",
		},
		"two of one step": {
			scenario: "1:b,respec 1:a@c > 2:prod", wantReason: policy.NotCompleted,
			wantBlockers: "1:a=NotCompleted 1:b=NotCompleted",
			wantMessage:  "step 2 of ApplicationSet argocd/guestbook may not sync yet: 2 Applications of step 1 are not done: a (NotCompleted: compared to c, not a), b (NotCompleted: its spec has changed since it was compared). Next: refresh a: argocd app get a --refresh",
		},
		"one of two is more than stale": {
			scenario: "1:a@c 1:b=Degraded > 2:prod", wantReason: policy.NotCompleted,
			wantBlockers: "1:a=NotCompleted 1:b=NotHealthy",
			wantMessage:  "step 2 of ApplicationSet argocd/guestbook may not sync yet: 2 Applications of step 1 are not done: a (NotCompleted: compared to c, not a), b (NotHealthy: Degraded). Next: refresh a: argocd app get a --refresh",
		},
		"the fourth is counted": {
			scenario: "1:a,op 1:b,op 1:c,op 1:d,op > 2:prod", wantReason: policy.OperationInProgress,
			wantBlockers: "1:a=OperationInProgress 1:b=OperationInProgress 1:c=OperationInProgress 1:d=OperationInProgress",
			wantMessage:  "step 2 of ApplicationSet argocd/guestbook may not sync yet: 4 Applications of step 1 are not done: a (OperationInProgress), b (OperationInProgress), c (OperationInProgress) and 1 more. Next: wait until the operation of a has ended",
		},
		"three steps, five blockers, one of them absent": {
			scenario: "3:e=Missing 3:d,respec 2:c=Healthy/Unknown 1:b,failed:9 > 4:prod | a/1", wantReason: policy.NotGenerated,
			wantBlockers: "1:a=NotGenerated 1:b=OperationFailed 2:c=NotCompleted 3:d=NotCompleted 3:e=NotHealthy",
			wantMessage:  "step 4 of ApplicationSet argocd/guestbook may not sync yet: 5 Applications of steps 1, 2 and 3 are not done: a (NotGenerated: it does not exist yet), b (OperationFailed: Failed), c (NotCompleted: Argo CD cannot compare it) and 2 more. Next: wait until the ApplicationSet controller has created a",
		},
		"control characters in a health": {
			scenario: "1:dev > 2:prod", edit: func(in *policy.Input) { in.Siblings[0].Health = "De\ngr\x00\x1b[31ma\u202eded\xff" },
			wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
			wantMessage: one + "(NotHealthy: De?gr??[31ma[U+202E]ded?). Next: wait until dev is Healthy, or repair it",
		},
		"a very long sync status": {
			scenario: "1:dev > 2:prod", edit: func(in *policy.Input) { in.Siblings[0].SyncStatus = strings.Repeat("x", 100_000) },
			wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted",
			wantMessage: one + "(NotCompleted: " + strings.Repeat("x", 57) + "...). Next: sync dev first: argocd app sync dev",
		},
		"hostile revisions": {
			scenario: "1:dev > 2:prod", edit: func(in *policy.Input) {
				in.Siblings[0].Compared[0].Revision = "a\r\nb"
				in.Target.Wanted = []policy.Source{{Key: "common", Revision: strings.Repeat("ä", 50)}}
			},
			wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted",
			wantMessage: one + "(NotCompleted: compared to a??b, not " + strings.Repeat("ä", 50) + ")" + refreshDev,
		},
		"forty characters that are no commit": {
			scenario: "1:dev@" + strings.Repeat("G", 40) + " > 2:prod@" + strings.Repeat("f", 41), wantReason: policy.NotCompleted,
			wantBlockers: "1:dev=NotCompleted",
			wantMessage:  one + "(NotCompleted: compared to " + strings.Repeat("G", 40) + ", not " + strings.Repeat("f", 41) + ")" + refreshDev,
		},
		"so many wanted revisions that they are cut": {
			scenario:   "1:dev > 2:prod,wants:" + strings.Repeat("b", 30) + "+" + strings.Repeat("c", 30) + "+" + strings.Repeat("d", 30),
			wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted",
			wantMessage: one + "(NotCompleted: compared to a, not " + strings.Repeat("b", 30) + " and " + strings.Repeat("c", 22) + "...)" + refreshDev,
		},
	}
}

// seenIn makes the watch know the step of an Application.
func seenIn(name string, step int) func(*policy.Input) {
	return func(in *policy.Input) {
		in.History.Of = func(of string) (past policy.Past) {
			if of == name {
				past.Step = step
			}
			return past
		}
	}
}
