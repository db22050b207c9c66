// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// finding collects the verdicts of all pairs of a rollout.
type finding struct {
	*rollout
	early []Early
	// unclear has an example for each reason.
	unclear map[Reason]*Pair
	// doubts are the most suspicious reasons of the members.
	doubts map[*member]Reason
	// compared says that some pair was comparable.
	compared bool
}

// judge compares all members of a rollout with those of earlier steps.
func (r *rollout) judge() *finding {
	r.prepare()
	f := &finding{rollout: r, unclear: map[Reason]*Pair{}, doubts: map[*member]Reason{}}
	for _, late := range r.members {
		f.judge(late)
	}
	return f
}

// judge compares one member with those of earlier steps.
func (f *finding) judge(late *member) {
	before := f.before[late.step]
	started := late.sync().started
	early := Early{Sync: syncOf(late)}
	for _, e := range before.members {
		verdict, reason := compare(late, e)
		f.doubtful(reason, late, e.application)
		f.compared = f.compared || verdict == InOrder
		if verdict == InOrder && !before.failed {
			break // the others ended even sooner
		}
		if verdict == OutOfOrder || verdict == ByHand {
			early.add(verdict, e)
		}
	}
	if before.reaches.After(started) {
		for _, app := range before.absent {
			_, reason := absent(late, app)
			f.doubtful(reason, late, app)
		}
	}
	if early.BeforeCount > 0 {
		f.early = append(f.early, early)
	}
}

// doubtful keeps the first example of a reason, and the most suspicious reason of a member.
func (f *finding) doubtful(reason Reason, late *member, early *application) {
	if reason == "" {
		return
	}
	if known := f.doubts[late]; known == "" || reason.suspicion() < known.suspicion() {
		f.doubts[late] = reason
	}
	if f.unclear[reason] == nil {
		f.unclear[reason] = &Pair{
			Later: late.name, LaterStep: policy.StepNumber(late.step), Earlier: early.name,
			EarlierStep: policy.StepNumber(early.step), Wave: policy.IsWave(late.step),
		}
	}
}

// add adds an Application of an earlier step, of which the last to end comes first.
func (e *Early) add(verdict Verdict, before *member) {
	if e.BeforeCount == 0 && before.ended().Before(never) {
		seconds := int64(before.ended().Sub(e.StartedAt.Time) / time.Second)
		e.Seconds = &seconds
	}
	if e.BeforeCount < mostBefore {
		e.Before = append(e.Before, syncOf(before))
	}
	e.Verdict = verdict
	e.BeforeCount++
}

func (f *finding) verdict() (Verdict, Reason) {
	for _, v := range []Verdict{OutOfOrder, ByHand} {
		if slices.ContainsFunc(f.early, func(e Early) bool { return e.Verdict == v }) {
			return v, ""
		}
	}
	for _, reason := range reasons() {
		if f.unclear[reason] != nil {
			return Unclear, reason
		}
	}
	if f.compared {
		return InOrder, ""
	}
	return OneStep, ""
}

// report is the rollout as it is reported.
func (f *finding) report() Rollout {
	r := Rollout{Revision: f.source.Revision, BeganAt: metav1.NewTime(f.began()), Early: f.early, LeftOut: f.leftOut()}
	r.Verdict, r.Reason = f.verdict()
	r.Example = f.unclear[r.Reason]
	source := f.members[0].sources[f.source.Key]
	r.Repository, r.Chart, r.TargetRevision = source.RepoURL, source.Chart, cmp.Or(source.TargetRevision, "HEAD")
	var ended time.Time
	for _, m := range f.members {
		sync := syncOf(m)
		sync.Unclear = f.doubts[m]
		r.Syncs = append(r.Syncs, sync)
		ended = later(ended, m.ended())
	}
	if ended.Before(never) {
		r.EndedAt = timeOf(ended)
	}
	return r
}

func syncOf(m *member) Sync {
	d := m.sync()
	return Sync{
		Application: m.name, Step: policy.StepNumber(m.step), Wave: policy.IsWave(m.step),
		StartedAt: metav1.NewTime(d.started), FinishedAt: timeOf(d.finished), Outcome: d.outcome, By: d.by,
		Automated: d.automated,
	}
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t)
	return &at
}
