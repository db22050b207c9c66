// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// fromLedger are the rollouts of a log that Argo CD's records do not have any more, the newest first.
func fromLedger(log *ledger.Log, onRecord []*rollout) (all []Rollout) {
	if log == nil {
		return nil
	}
	for i := range slices.Backward(log.Rollouts) {
		r := &log.Rollouts[i]
		known := slices.ContainsFunc(onRecord, func(o *rollout) bool {
			return o.source == policy.Source{Key: r.Source, Revision: r.Revision}
		})
		if !known && !r.Back && !r.StartedAt.IsZero() {
			all = append(all, written(r))
		}
	}
	return all
}

// written judges a rollout by the steps that the ledger has of it.
func written(r *ledger.Rollout) Rollout {
	all := Rollout{
		Revision: r.Revision, BeganAt: metav1.NewTime(r.StartedAt), EndedAt: timeOf(r.EndedAt), FromLedger: true,
	}
	// As argocd.SourceKey writes it.
	for i, part := range strings.SplitN(strings.TrimPrefix(r.Source, policy.DryPrefix), " ", 3) {
		*[]*string{&all.Repository, &all.Chart, &all.TargetRevision}[i] = part
	}
	all.Verdict = OneStep
	for i := range r.Steps {
		late := &r.Steps[i]
		if late.StartedAt.IsZero() {
			continue
		}
		wave := policy.IsWave(late.Step - 1)
		for j := range r.Steps[:i] {
			early := &r.Steps[j]
			switch {
			case wave != policy.IsWave(early.Step-1): // a step of a strategy that it had before
			case early.CompletedAt.IsZero():
				all.Reason = NotWritten
				all.Example = &Pair{
					Later: "the first Application", LaterStep: policy.StepNumber(late.Step - 1), Earlier: "the last one",
					EarlierStep: policy.StepNumber(early.Step - 1), Wave: wave,
				}
			case early.CompletedAt.Sub(late.StartedAt) >= time.Second:
				all.Early = append(all.Early, tooEarly(r, late, early))
			case all.Verdict == OneStep:
				all.Verdict = InOrder
			}
		}
	}
	switch {
	case slices.ContainsFunc(all.Early, func(e Early) bool { return e.Verdict == OutOfOrder }):
		all.Verdict = OutOfOrder
	case len(all.Early) > 0:
		all.Verdict = ByHand
	case all.Reason != "":
		all.Verdict = Unclear
	}
	if all.Verdict != Unclear {
		all.Reason, all.Example = "", nil
	}
	return all
}

// tooEarly says that a step started before an earlier one was complete. Whoever has synced it by hand, or bypassed the
// rule, has done that.
func tooEarly(r *ledger.Rollout, late, early *ledger.Step) Early {
	seconds := int64(early.CompletedAt.Sub(late.StartedAt) / time.Second)
	e := Early{
		Sync: Sync{
			Application: "the first Application", Step: policy.StepNumber(late.Step - 1), Wave: policy.IsWave(late.Step - 1),
			StartedAt: metav1.NewTime(late.StartedAt), Outcome: Succeeded, By: strings.Join(late.By, ", "),
			Automated: len(late.By) == 0,
		},
		Verdict: OutOfOrder, Seconds: &seconds, BeforeCount: 1,
		Before: []Sync{{
			Application: "the last one", Step: policy.StepNumber(early.Step - 1), Wave: policy.IsWave(early.Step - 1),
			StartedAt: metav1.NewTime(early.StartedAt), FinishedAt: timeOf(early.CompletedAt), Outcome: Succeeded,
		}},
	}
	if len(late.By) > 0 || len(r.Bypasses) > 0 {
		e.Verdict = ByHand
	}
	return e
}
