// SPDX-License-Identifier: Apache-2.0

package policy_test

import "github.com/stepgate/stepgate/policy"

// blocker is a scenario with one Application that is not done, asked at all three levels of strictness.
type blocker struct {
	scenario string
	settings policy.Settings
	// wantFrom is the least strict level at which it blocks. At the less strict ones the sync is allowed.
	wantFrom    policy.Require
	wantReason  policy.Reason
	wantMessage string
}

// nowhere is less strict than every level: the Application is done.
const nowhere = policy.RequireHealth + 1

const (
	one      = "step 2 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev "
	health   = policy.RequireHealth
	revision = policy.RequireRevision
)

func blockerRows() map[string]row {
	blockers := map[string]blocker{
		"an operation is asked for":   {scenario: "1:dev,op > 2:prod", wantFrom: health, wantReason: policy.OperationInProgress, wantMessage: one + "(OperationInProgress). Next: wait until the operation of dev has ended"},
		"an operation runs":           {scenario: "1:dev,running > 2:prod", wantFrom: health, wantReason: policy.OperationInProgress, wantMessage: one + "(OperationInProgress). Next: wait until the operation of dev has ended"},
		"an operation is terminating": {scenario: "1:dev,terminating > 2:prod", wantFrom: health, wantReason: policy.OperationInProgress, wantMessage: one + "(OperationInProgress). Next: wait until the operation of dev has ended"},
		"it was never reconciled":     {scenario: "1:dev,at:never > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: Argo CD has never compared it). Next: wait until Argo CD has compared dev"},
		"it has no health yet":        {scenario: "1:dev,nohealth > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: Argo CD has never compared it). Next: wait until Argo CD has compared dev"},
		"it is Progressing":           {scenario: "1:dev=Progressing > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: Progressing). Next: wait until dev is Healthy, or repair it"},
		"it is Degraded":              {scenario: "1:dev=Degraded > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"},
		"it is Missing":               {scenario: "1:dev=Missing > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: Missing). Next: wait until dev is Healthy, or repair it"},
		"it is Suspended":             {scenario: "1:dev=Suspended > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: Suspended). Next: wait until dev is Healthy, or repair it"},
		"its health is Unknown":       {scenario: "1:dev=Unknown > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: Unknown). Next: wait until dev is Healthy, or repair it"},
		"healthy is not Healthy":      {scenario: "1:dev=healthy > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: healthy). Next: wait until dev is Healthy, or repair it"},
		"it is recorded and absent": {
			scenario: "> 2:prod | dev/1", wantFrom: health, wantReason: policy.NotGenerated, wantMessage: one + "(NotGenerated: it does not exist yet). Next: wait until the ApplicationSet controller has created dev",
		},

		"its sync status is Unknown":                                 {scenario: "1:dev=Healthy/Unknown > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: Argo CD cannot compare it). Next: read the conditions of dev"},
		"it has no sync status":                                      {scenario: "1:dev,nosync > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: Argo CD cannot compare it). Next: read the conditions of dev"},
		"its spec was not compared":                                  {scenario: "1:dev,respec > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: its spec has changed since it was compared). Next: refresh dev: argocd app get dev --refresh"},
		"its operation ended later":                                  {scenario: "1:dev,ended:101 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: compared before its last operation ended). Next: wait until Argo CD has compared dev"},
		"it synced another revision in the second of its comparison": {scenario: "1:dev,ended:100,elsewhere > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: compared in the second in which its last operation ended). Next: wait until Argo CD has compared dev"},
		"its operation failed later":                                 {scenario: "1:dev,failed:101 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: compared before its last operation ended). Next: wait until Argo CD has compared dev"},
		"it is OutOfSync":                                            {scenario: "1:dev=Healthy/OutOfSync > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: OutOfSync). Next: sync dev first: argocd app sync dev"},
		"it is something unheard of":                                 {scenario: "1:dev=Healthy/Sideways,synced:50 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: Sideways). Next: sync dev first: argocd app sync dev"},
		"its last sync was of less":                                  {scenario: "1:dev=Healthy/OutOfSync,syncedold:50 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: OutOfSync). Next: sync dev first: argocd app sync dev"},
		"no comparison followed":                                     {scenario: "1:dev=Healthy/OutOfSync,synced:101 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: found OutOfSync within 5 s of its last sync, and not compared since). Next: wait until Argo CD has compared dev"},
		"no second passed since sync":                                {scenario: "1:dev=Healthy/OutOfSync,ended:100,synced:100 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: found OutOfSync within 5 s of its last sync, and not compared since). Next: wait until Argo CD has compared dev"},
		"too soon after its sync":                                    {scenario: "1:dev=Healthy/OutOfSync,ended:95,synced:95 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: found OutOfSync within 5 s of its last sync, and not compared since). Next: wait until Argo CD has compared dev"},
		"its hydration runs":                                         {scenario: "1:dev,hydrating > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: hydration: Hydrating). Next: wait until the source hydrator has hydrated dev, or read its status.sourceHydrator"},
		"its hydration failed":                                       {scenario: "1:dev,unhydrated > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: hydration: Failed). Next: wait until the source hydrator has hydrated dev, or read its status.sourceHydrator"},
		"its operation failed":                                       {scenario: "1:dev,failed:50 > 2:prod", wantFrom: revision, wantReason: policy.OperationFailed, wantMessage: one + "(OperationFailed: Failed). Next: sync dev again: argocd app sync dev"},
		"its operation had an error":                                 {scenario: "1:dev,error:50 > 2:prod", wantFrom: revision, wantReason: policy.OperationFailed, wantMessage: one + "(OperationFailed: Error). Next: sync dev again: argocd app sync dev"},

		"it was compared at another revision": {scenario: "1:dev@a > 2:prod@b", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: compared to a, not b). Next: refresh dev: argocd app get dev --refresh"},
		"it is not known to be fresh":         {scenario: "1:dev@lib:x > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + notFresh},

		"all is done": {scenario: "1:dev > 2:prod", wantFrom: nowhere},
		"it was hydrated, and not compared since": {
			scenario: "1:dev,uncompared > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted,
			wantMessage: one + "(NotCompleted: compared before it was hydrated). Next: refresh dev: argocd app get dev --refresh",
		},
		"its hydration has ended":                    {scenario: "1:dev,hydrated > 2:prod", wantFrom: nowhere},
		"nothing comes before":                       {scenario: "> 2:prod", wantFrom: nowhere},
		"its operation ended in the same second":     {scenario: "1:dev,ended:100 > 2:prod", wantFrom: nowhere},
		"a partial operation ended later":            {scenario: "1:dev,ended:101,partial > 2:prod", wantFrom: nowhere},
		"somebody changed the cluster after a sync":  {scenario: "1:dev=Healthy/OutOfSync,synced:50 > 2:prod", wantFrom: nowhere},
		"a partial operation failed":                 {scenario: "1:dev,failed:50,partial > 2:prod", wantFrom: nowhere},
		"an operation failed at another revision":    {scenario: "1:dev,failed:50,elsewhere > 2:prod", wantFrom: nowhere},
		"an operation failed, and that is permitted": {scenario: "1:dev,error:50 > 2:prod", settings: policy.Settings{AllowFailedOperations: true}, wantFrom: nowhere},
	}
	for name, b := range orderOfBlame() {
		blockers[name] = b
	}
	return atEachLevel(blockers)
}

// orderOfBlame are Applications with two defects: the one that has to go first is named.
func orderOfBlame() map[string]blocker {
	return map[string]blocker{
		"an operation before no health":               {scenario: "1:dev,op,nohealth > 2:prod", wantFrom: health, wantReason: policy.OperationInProgress, wantMessage: one + "(OperationInProgress). Next: wait until the operation of dev has ended"},
		"never reconciled before unhealthy":           {scenario: "1:dev=Degraded,at:never > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: Argo CD has never compared it). Next: wait until Argo CD has compared dev"},
		"unhealthy before unsynced":                   {scenario: "1:dev=Degraded/OutOfSync > 2:prod", wantFrom: health, wantReason: policy.NotHealthy, wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"},
		"unknown before not compared":                 {scenario: "1:dev=Healthy/Unknown,respec > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: Argo CD cannot compare it). Next: read the conditions of dev"},
		"not compared before stale health":            {scenario: "1:dev,respec,ended:101 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: its spec has changed since it was compared). Next: refresh dev: argocd app get dev --refresh"},
		"stale health before unsynced":                {scenario: "1:dev=Healthy/OutOfSync,ended:101 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: compared before its last operation ended). Next: wait until Argo CD has compared dev"},
		"a hook failed at another revision":           {scenario: "1:dev,failed:50,elsewhere,applied > 2:prod", wantFrom: revision, wantReason: policy.OperationFailed, wantMessage: one + "(OperationFailed: Failed). Next: sync dev again: argocd app sync dev"},
		"unsynced before failed":                      {scenario: "1:dev=Healthy/OutOfSync,failed:50 > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: OutOfSync). Next: sync dev first: argocd app sync dev"},
		"a hook failed in an earlier attempt":         {scenario: "1:dev,failed:50,elsewhere,appliedbefore > 2:prod", wantFrom: revision, wantReason: policy.OperationFailed, wantMessage: one + "(OperationFailed: Failed). Next: sync dev again: argocd app sync dev"},
		"another revision before failed":              {scenario: "1:dev,failed:50 > 2:prod@b", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: compared to a, not b). Next: refresh dev: argocd app get dev --refresh"},
		"drift does not excuse another revision":      {scenario: "1:dev=Healthy/OutOfSync,synced:50 > 2:prod@b", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: compared to a, not b). Next: refresh dev: argocd app get dev --refresh"},
		"what a failed rollback has left is no drift": {scenario: "1:dev=Healthy/OutOfSync,synced:50,failed:60,elsewhere > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: OutOfSync). Next: sync dev first: argocd app sync dev"},
		"what was patched to be Healthy is no drift":  {scenario: "1:dev=Healthy/OutOfSync,synced:50,patched > 2:prod", wantFrom: revision, wantReason: policy.NotCompleted, wantMessage: one + "(NotCompleted: OutOfSync). Next: sync dev first: argocd app sync dev"},
		"drift does not excuse a failed operation":    {scenario: "1:dev=Healthy/OutOfSync,synced:50,failed:60 > 2:prod", wantFrom: revision, wantReason: policy.OperationFailed, wantMessage: one + "(OperationFailed: Failed). Next: sync dev again: argocd app sync dev"},
	}
}

// atEachLevel makes two rows of each.
func atEachLevel(blockers map[string]blocker) map[string]row {
	rows := map[string]row{}
	for name, b := range blockers {
		for _, level := range []policy.Require{policy.RequireRevision, policy.RequireHealth} {
			settings := b.settings
			settings.Require = level
			want := row{
				scenario: b.scenario, settings: settings,
				wantOutcome: policy.Allow, wantReason: policy.EarlierStepsDone, wantMessage: "allow (EarlierStepsDone)",
			}
			// The strictest level is the smallest number.
			if b.wantFrom != nowhere && level <= b.wantFrom {
				want.wantOutcome, want.wantReason, want.wantMessage = policy.Deny, b.wantReason, b.wantMessage
				want.wantBlockers = "1:dev=" + string(b.wantReason)
			}
			rows[name+", at "+level.String()] = want
		}
	}
	return rows
}
