// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// mostCompleted bounds what is remembered of an Application.
const mostCompleted = 20

// complete notices what the Application is done with: by a sync, or because it was found Synced without one, as with a
// commit that does not touch it. What it is not Healthy with any more, it is not done with any more. Other sources than
// those that it has synced end all: a revision may be fine with the old parameters only. altered says that what is
// around its sources has just changed.
func (r *Record) complete(p *argocd.Projection, altered bool, now time.Time) {
	app := &p.Application
	if altered {
		r.completions = slices.Clone(r.completions)
		for i := range r.completions {
			r.completions[i].Altered = true
		}
	}
	if !app.SpecCompared || !app.LastSync.SameSources {
		r.completions, r.lostAt = nil, now
		return
	}
	r.wentBack(&app.LastSync, app.Compared)
	if app.OperationSet || app.LastOperation.Running() {
		r.takeBack(app, p.Deploys, now)
		return
	}
	if app.LastFull.Phase == "Succeeded" {
		r.takeBack(app, app.LastSync.Sources(app.Compared), app.LastFull.StartedAt)
	}
	done, shown := r.shown(p)
	same := func(c policy.Completion) bool { return slices.Equal(c.Sources, done.Sources) }
	switch {
	case done.Sources == nil:
		return
	case app.Health != "Healthy":
		r.completions = slices.DeleteFunc(slices.Clone(r.completions), same)
		return
	case !shown || app.LastFull.Phase != "Succeeded":
		return
	}
	done.Seen = now
	if at := slices.IndexFunc(r.completions, same); at >= 0 {
		r.completions = slices.Clone(r.completions)
		done.From = r.completions[at].From
		r.completions[at] = done
		return
	}
	all := slices.Insert(slices.Clone(r.completions), r.position(app, done.Sources), done)
	r.completions = all[max(0, len(all)-mostCompleted):]
}

// position is where something new belongs among the completions: at their end. What the last sync has deployed that is
// noticed only when another revision is compared comes before all that the Application was found Synced with meanwhile.
func (r *Record) position(app *policy.Application, done []policy.Source) int {
	last := &app.LastSync
	since := slices.IndexFunc(r.completions, func(c policy.Completion) bool { return !c.Since.Before(last.Since) })
	if since < 0 || last.Since.IsZero() || !slices.Equal(done, last.Other) {
		return len(r.completions)
	}
	return since
}

// wentBack forgets what was completed of what the last sync has deployed, and after that, before it was deployed without
// anything else in between: somebody has gone back, and maybe forward again, and the watch has not seen all of it.
func (r *Record) wentBack(last *policy.LastSync, compared []policy.Source) {
	to := last.Sources(compared)
	at := slices.IndexFunc(r.completions, func(c policy.Completion) bool { return slices.Equal(c.Sources, to) })
	if at < 0 || len(to) == 0 {
		return
	}
	older := func(c policy.Completion) bool { return c.Since.Before(last.Since) }
	if slices.ContainsFunc(r.completions[at:], older) {
		r.completions = slices.Concat(r.completions[:at], slices.DeleteFunc(slices.Clone(r.completions[at:]), older))
	}
}

// takeBack forgets what was completed after something that the Application returns to, by an operation that started at a
// time or is under way: somebody has gone back from that. What it was found Synced with after that operation stays.
func (r *Record) takeBack(app *policy.Application, to []policy.Source, startedAt time.Time) {
	at := slices.IndexFunc(r.completions, func(c policy.Completion) bool {
		return !c.Doubted && slices.Equal(c.Sources, to)
	})
	if len(to) == 0 || len(r.completions) == 0 {
		return
	}
	back := at >= 0 || ranBefore(app.Ran, to)
	kept := slices.Clone(r.completions[:at+1])
	for _, c := range r.completions[at+1:] {
		if !c.OperatedAt.Before(startedAt) || !back && !r.comparedFirst(to, c.Sources) {
			kept = append(kept, c)
		}
	}
	r.completions = kept
}

// mostCompared bounds the order of comparisons.
const mostCompared = 8

// inOrder notices what the Application is compared with.
func (r *Record) inOrder(compared []policy.Source) {
	if len(compared) > 0 && r.ordered(compared) < 0 {
		r.order = slices.Concat(r.order[max(0, len(r.order)-mostCompared+1):], [][]policy.Source{compared})
	}
}

// ordered is where something is in the order of comparisons, and -1 if it is not.
func (r *Record) ordered(sources []policy.Source) int {
	return slices.IndexFunc(r.order, func(o []policy.Source) bool { return slices.Equal(o, sources) })
}

// comparedFirst reports whether the Application was compared with a for the first time before it was with b: who comes
// from b to a goes back, whether it has ever deployed a or not.
func (r *Record) comparedFirst(a, b []policy.Source) bool {
	first := r.ordered(a)
	return first >= 0 && first < r.ordered(b)
}

// notAhead are the completions without those that the branch has gone back from, as long as the Application is compared
// with what it has gone back to.
func (r *Record) notAhead() []policy.Completion {
	ahead := func(c policy.Completion) bool { return r.comparedFirst(r.compared, c.Sources) }
	if !slices.ContainsFunc(r.completions, ahead) {
		return r.completions
	}
	return slices.DeleteFunc(slices.Clone(r.completions), ahead)
}

// ranBefore reports whether each of these sources was at its revision before, and one of them at another one since.
func ranBefore(ran, sources []policy.Source) (before bool) {
	for _, s := range sources {
		first := slices.Index(ran, s)
		if first < 0 {
			return false
		}
		before = before || slices.ContainsFunc(ran[first+1:], func(r policy.Source) bool { return r.Key == s.Key })
	}
	return before
}

// shown is what the health of an Application is of, that has no operation: what it is Synced with, or what it has
// deployed while it is OutOfSync at another revision. It has no sources where that is not known. ok says that the
// comparison is one of after the sync. One of the second in which that ended may be older than the end. It is not if a
// comparison before it was of after the sync, too, and found something else than Healthy. One that found it OutOfSync
// does not show that it saw what was deployed.
func (r *Record) shown(p *argocd.Projection) (done policy.Completion, ok bool) {
	app, last := &p.Application, &p.Application.LastSync
	done.OperatedAt, done.Since, done.Altered = app.LastOperation.StartedAt, last.Since, r.altered || r.unknown
	if app.HealthSince.After(done.Since) {
		done.Since = app.HealthSince
	}
	switch {
	case app.SyncStatus == "Synced" && !hydrated(app):
		// A dry source is compared before it is hydrated.
	case app.SyncStatus == "Synced" && !last.AtCompared:
		done.Sources, done.From = app.Compared, r.comparedFrom
		return done, r.found == p.Content && p.Content.Revised != ""
	case app.SyncStatus == "Synced":
		if app.Health != "Healthy" && app.LastFull.Phase == "Succeeded" {
			r.settling = last.FinishedAt
		}
		done.Sources, done.By, done.From = app.Compared, last.By, r.comparedFrom
		return done, app.ReconciledAt.After(last.FinishedAt) || r.settling.Equal(last.FinishedAt)
	case app.SyncStatus == "OutOfSync" && !last.AtCompared && len(last.Other) == len(app.Compared):
		done.Sources, done.By = last.Other, last.By
		return done, app.Hydration == "" && last.ShownBy(app.ReconciledAt) && !app.LastFull.Patched
	}
	return policy.Completion{}, false
}

// Unproven reports whether a comparison is missing to tell that a Healthy Application has completed what its last sync
// deployed: one of a later second than at.
func Unproven(app *policy.Application) (at time.Time, missing bool) {
	last := &app.LastSync
	if app.OperationSet || app.LastOperation.Running() || app.LastFull.Phase != "Succeeded" || app.Health != "Healthy" ||
		!app.SpecCompared || !last.SameSources || app.Hydration != "" {
		return at, false
	}
	switch {
	case app.SyncStatus == "Synced" && last.AtCompared:
		at = last.FinishedAt
	case !last.AtCompared:
		at = last.ShownAfter()
	default:
		return at, false
	}
	return at, !app.ReconciledAt.After(at)
}

// breakDown notices that an Application is Degraded, Missing or failed, and that it is so no more. To be Progressing on
// the way to a newer revision is not to be broken.
func (r *Record) breakDown(app *policy.Application, now time.Time) {
	last := &app.LastFull
	was := r.broken
	r.broken = app.Health == "Degraded" || app.Health == "Missing" ||
		(last.Phase == "Failed" || last.Phase == "Error") && (last.AtCompared || last.Applied || app.SyncStatus != "Synced")
	if r.broken || was {
		r.brokenAt = now
	}
}
