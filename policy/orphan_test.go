// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// TestAnOrphanNamesItsWayOut where nothing tells whether its ApplicationSet still generates it. Excluded, it holds nobody
// up.
func TestAnOrphanNamesItsWayOut(t *testing.T) {
	const (
		blocked = "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: "
		orphan  = "; if it is not generated any more, delete it, or name it in stepgate.io/exclude of its ApplicationSet"
		allowed = "allow (EarlierStepsDone)"
	)
	keeps := func(in *policy.Input) { in.ApplicationSet.Keeps = true }
	recorded := func(step int) func(*policy.Input) {
		return func(in *policy.Input) {
			in.ApplicationSet.Keeps, in.ApplicationSet.Recorded = true, map[string]policy.Recorded{"dev": {Step: step}}
			in.Siblings[0].RecordedStep = step
		}
	}
	for name, tc := range map[string]struct {
		text string
		edit func(*policy.Input)
		want string
	}{
		"it deletes orphans": {"1:dev=Degraded > 3:prod", func(*policy.Input) {}, blocked +
			"dev (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"},
		"it keeps orphans, and records nothing": {"1:dev=Degraded > 3:prod", keeps, blocked +
			"dev (NotHealthy: Degraded, maybe not generated any more). Next: wait until dev is Healthy, or repair it" + orphan},
		"it records that it generates it": {"1:dev=Degraded > 3:prod", recorded(1), blocked +
			"dev (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"},
		"it records that it does not": {"1:dev=Degraded > 3:prod", recorded(-1), allowed},
		"an operation of it runs": {"1:dev,running > 3:prod", keeps, blocked +
			"dev (OperationInProgress). Next: wait until the operation of dev has ended"},
		"a comparison of it is old": {"1:dev@a > 3:prod@b", keeps, blocked +
			"dev (NotCompleted: compared to a, not b). Next: refresh dev: argocd app get dev --refresh"},
		"only pruning is left": {"1:dev=Healthy/OutOfSync > 3:prod", func(in *policy.Input) {
			keeps(in)
			in.Siblings[0].OnlyPruning = true
		}, blocked + "dev (NotCompleted: OutOfSync, only pruning is left, maybe not generated any more). Next: prune it: " +
			"argocd app sync dev --prune; if it is OutOfSync on purpose, set the annotation stepgate.io/require: completed" + orphan},
		"it is excluded": {"1:dev=Degraded > 3:prod", func(in *policy.Input) {
			keeps(in)
			in.Settings.Excluded = map[string]bool{"dev": true}
		}, allowed},
		"it has failed in the step of the target, and is excluded": {"3:qa=Degraded > 3:prod", func(in *policy.Input) {
			keeps(in)
			in.Settings.Conditions.MaxFailures = &policy.Budget{}
			in.Settings.Excluded = map[string]bool{"qa": true}
		}, allowed},
	} {
		t.Run(name, func(t *testing.T) {
			in := scenario(tc.text)
			tc.edit(&in)
			NewWithT(t).Expect(policy.Evaluate(in).Message()).To(Equal(tc.want))
		})
	}
}
