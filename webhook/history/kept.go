// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Kept is what of a Record outlives its process: what the Application has completed, and the state in which it was last
// seen, by which the next process finds out what may have happened while nobody watched. It has no positions: these
// number the events of one process.
type Kept struct {
	// OperatedAt is when its newest operation had started, Idle says that this had ended, and FullAt is when its last full
	// sync had started that had ended.
	OperatedAt, FullAt time.Time
	Idle               bool
	// Ran are the sources and revisions of its history, and Newest is the number of its newest entry.
	Ran    []policy.Source
	Newest int64
	// Compared are the newest things that it was compared with, in the order of the first comparison with each.
	Compared [][]policy.Source
	// HealthySince is since when it is Healthy; zero if it is not, or only for less than a second: that is the resolution
	// of Argo CD's times.
	HealthySince time.Time
	// Parameters and Around are those of its Content.
	Parameters, Around string
	// Found is what it was found Synced with since its newest operation.
	Found argocd.Content
	// Completions are those of policy.Past.
	Completions []policy.Completion
	// Broken says that it is Degraded, Missing or failed, and BrokenAt is policy.Past.Broken.
	Broken   bool
	BrokenAt time.Time
	// AppliedAt is policy.Past.Applied.
	AppliedAt time.Time
}

// Kept is what to keep of a Record now.
func (r *Record) Kept(now time.Time) Kept {
	k := Kept{
		OperatedAt: r.operatedAt, FullAt: r.fullAt, Idle: r.idle, Ran: r.ran, Newest: r.newest, Compared: r.order,
		Parameters: r.parameters, Around: r.around, Found: r.found,
		Completions: slices.Clone(r.completions), Broken: r.broken, BrokenAt: r.brokenAt, AppliedAt: r.appliedAt,
	}
	for i := range k.Completions {
		k.Completions[i].From = 0
	}
	if !now.Before(r.healthySince.Add(time.Second)) {
		k.HealthySince = r.healthySince
	}
	return k
}

// state keeps what the next event, or the next process, compares with.
func (r *Record) state(p *argocd.Projection) {
	app := &p.Application
	r.around, r.parameters = p.Content.Around, p.Content.Parameters
	r.fullAt, r.healthySince = app.LastFull.StartedAt, time.Time{}
	r.ran, r.newest = app.Ran, p.Newest
	if app.Health == "Healthy" {
		r.healthySince = app.HealthSince
	}
}

// resume begins with what was kept, as far as the Application shows that nothing has invalidated it since. What may have
// happened meanwhile, has happened.
//
//   - It may have been unhealthy with what it ran, unless it is Healthy since the same time: what it was found done with
//     since its last operation is Doubted, and it was broken until it became Healthy.
//   - It may have gone back from what it has completed, unless its stamp shows that no sync has failed, and its history that
//     the others did not go back: else it has completed nothing.
//   - What it has completed with other parameters, it has not completed. With something else around its sources, it has
//     completed that Altered.
func (r *Record) resume(k *Kept, p *argocd.Projection, now time.Time) {
	app := &p.Application
	same := app.LastOperation.StartedAt.Equal(k.OperatedAt)
	steady := app.Health == "Healthy" && !k.HealthySince.IsZero() && app.HealthSince.Equal(k.HealthySince)
	known := same || k.goesOn(p)
	r.order = k.Compared
	r.around, r.appliedAt, r.broken, r.brokenAt = k.Around, k.AppliedAt, k.Broken, k.BrokenAt
	if known && k.Parameters == p.Content.Parameters {
		r.completions = slices.Clone(k.Completions)
		if !steady {
			r.doubt()
		}
	}
	switch {
	case known && steady:
	case known && app.Health == "Healthy" && !app.HealthSince.IsZero():
		r.brokenAt = later(k.BrokenAt, app.HealthSince.Add(time.Second))
	default:
		r.brokenAt = now
	}
	if idle := !app.OperationSet && !app.LastOperation.Running(); same && idle && k.Idle {
		r.operatedAt, r.found = k.OperatedAt, k.Found
		if app.SyncStatus == "Synced" {
			r.unproven = p.Compared
		}
	}
}

// doubt doubts what may be deployed: the newest that was completed, and what was found Synced since the same operation.
func (r *Record) doubt() {
	for i := range r.completions {
		newest := r.completions[len(r.completions)-1].OperatedAt
		r.completions[i].Doubted = r.completions[i].Doubted || r.completions[i].OperatedAt.Equal(newest)
	}
}

// goesOn reports whether all full syncs of an Application that have begun since have succeeded, or are under way, and none
// of them deployed what it had deployed or completed before, or what it was compared with before that. The history has
// to reach back to what it ran: with a revisionHistoryLimit of 1 or 0 it never does.
func (k *Kept) goesOn(p *argocd.Projection) bool {
	last := &p.Application.LastFull
	failed := last.Phase == "Failed" || last.Phase == "Error"
	if !p.Stamped || p.Failed.After(k.OperatedAt) || failed && !last.StartedAt.Equal(k.FullAt) {
		return false
	}
	ran := p.Application.Ran
	if len(k.Ran) == 0 || p.Oldest > k.Newest {
		return false
	}
	from := slices.Index(ran, k.Ran[len(k.Ran)-1])
	if from < 0 {
		return false
	}
	for i, s := range ran[from+1:] {
		if k.had(s) || k.leftBehind(s) || slices.Contains(ran[:from+1+i], s) {
			return false
		}
	}
	return true
}

// had reports whether a source was deployed or completed at its revision.
func (k *Kept) had(s policy.Source) bool {
	return slices.Contains(k.Ran, s) ||
		slices.ContainsFunc(k.Completions, func(c policy.Completion) bool { return slices.Contains(c.Sources, s) })
}

// leftBehind reports whether the Application was compared with a source at its revision for the first time before it was
// with something that it has completed without that.
func (k *Kept) leftBehind(s policy.Source) bool {
	first := slices.IndexFunc(k.Compared, func(o []policy.Source) bool { return slices.Contains(o, s) })
	return first >= 0 && slices.ContainsFunc(k.Compared[first:], func(o []policy.Source) bool {
		return !slices.Contains(o, s) && slices.ContainsFunc(k.Completions, func(c policy.Completion) bool {
			return slices.Equal(c.Sources, o)
		})
	})
}

// Follow is the Record with what another replica has kept of an Application, which is seen in a state: what a replica
// that starts now would know. What the own watch has seen wins. It adds what was completed earlier, if that contains all
// that is known here.
func (r *Record) Follow(k *Kept, p *argocd.Projection, now time.Time) *Record {
	started, _ := (*Record)(nil).Next(p, Event{At: now, Kept: k})
	all, found := slices.Clone(started.completions), 0
	for i := range all {
		if found < len(r.completions) && slices.Equal(all[i].Sources, r.completions[found].Sources) {
			all[i] = r.completions[found]
			found++
		}
	}
	if found < len(r.completions) || len(all) == found || !r.lostAt.IsZero() {
		return r
	}
	next := *r
	next.completions, next.brokenAt = all, later(r.brokenAt, started.brokenAt)
	return &next
}

// later is the later one of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
