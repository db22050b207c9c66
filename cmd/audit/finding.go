package audit

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finding collects the verdicts of all pairs of a rollout.
type finding struct {
	*rollout
	early []Early
	// unclear has an example for each reason.
	unclear map[Reason]*Pair
	// compared says that some pair was comparable.
	compared bool
}

// judge compares all members of a rollout with those of earlier steps.
func (r *rollout) judge() *finding {
	r.prepare()
	f := &finding{rollout: r, unclear: map[Reason]*Pair{}}
	for _, late := range r.members {
		f.judge(late)
	}
	return f
}

func (f *finding) judge(late member) {
	before := &f.before[late.step]
	started := late.sync().started
	var early []member
	verdict := InOrder
	if started.After(before.finished) {
		f.compared = f.compared || len(before.members) > 0
	} else {
		for _, e := range before.members {
			v, reason := f.compare(late, e)
			f.doubtful(reason, late, e.application)
			f.compared = f.compared || v == InOrder
			if v == OutOfOrder || v == ByHand {
				early, verdict = append(early, e), v
			}
		}
	}
	if before.reaches.After(started) {
		for _, app := range before.absent {
			_, reason := absent(late, app)
			f.doubtful(reason, late, app)
		}
	}
	if len(early) > 0 {
		f.early = append(f.early, earlyOf(late, early, verdict))
	}
}

// doubtful keeps the first example of a reason.
func (f *finding) doubtful(reason Reason, late member, early *application) {
	if reason != "" && f.unclear[reason] == nil {
		f.unclear[reason] = &Pair{Later: late.name, LaterStep: late.step + 1, Earlier: early.name, EarlierStep: early.step + 1}
	}
}

func earlyOf(late member, before []member, verdict Verdict) Early {
	slices.SortStableFunc(before, func(a, b member) int { return b.ended().Compare(a.ended()) })
	e := Early{Sync: syncOf(late), Verdict: verdict, BeforeCount: len(before)}
	if last := before[0].sync().finished; !last.IsZero() {
		seconds := int64(last.Sub(late.sync().started) / time.Second)
		e.Seconds = &seconds
	}
	for _, b := range before[:min(len(before), mostBefore)] {
		e.Before = append(e.Before, syncOf(b))
	}
	return e
}

// ended is when a sync ended; far in the future while it runs.
func (m member) ended() time.Time {
	if m.sync().finished.IsZero() {
		return never
	}
	return m.sync().finished
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
	r := Rollout{Revision: f.source.Revision, BeganAt: metav1.NewTime(f.began()), Early: f.early}
	r.Verdict, r.Reason = f.verdict()
	r.Example = f.unclear[r.Reason]
	source := f.members[0].sources[f.source.Key]
	r.Repository, r.Chart, r.TargetRevision = source.RepoURL, source.Chart, cmp.Or(source.TargetRevision, "HEAD")
	var ended time.Time
	for _, m := range f.members {
		r.Syncs = append(r.Syncs, syncOf(m))
		ended = later(ended, m.ended())
	}
	if ended.Before(never) {
		r.EndedAt = timeOf(ended)
	}
	return r
}

func syncOf(m member) Sync {
	d := m.sync()
	return Sync{
		Application: m.name, Step: m.step + 1, StartedAt: metav1.NewTime(d.started), FinishedAt: timeOf(d.finished),
		Outcome: d.outcome, By: d.by, Automated: d.automated,
	}
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t)
	return &at
}
