package history

import (
	"slices"
	"time"

	"github.com/stepgate/stepgate/policy"
)

// mostCompleted bounds what is remembered of an Application.
const mostCompleted = 20

// complete notices what the Application is done with: by a sync, or because it was found Synced without one, as with a
// commit that does not touch it. What it is not Healthy with any more, it is not done with any more. Other sources than
// those that it has synced end all: a revision may be fine with the old parameters only. altered says that what is
// around its sources has just changed.
func (r *Record) complete(app *policy.Application, altered bool, now time.Time) {
	if altered {
		r.completions = slices.Clone(r.completions)
		for i := range r.completions {
			r.completions[i].Altered = true
		}
	}
	switch {
	case !app.SpecCompared || !app.LastSync.SameSources:
		r.completions = nil
		return
	case app.OperationSet || app.LastOperation.Running():
		return
	}
	done, shown := r.shown(app)
	same := func(c policy.Completion) bool { return slices.Equal(c.Sources, done.Sources) }
	switch {
	case done.Sources == nil:
		return
	case app.Health != "Healthy":
		r.completions = slices.DeleteFunc(slices.Clone(r.completions), same)
		return
	case !shown || app.LastOperation.Phase != "Succeeded":
		return
	}
	done.Seen = now
	if at := slices.IndexFunc(r.completions, same); at >= 0 {
		r.completions = slices.Clone(r.completions)
		done.From = r.completions[at].From
		r.completions[at] = done
		return
	}
	r.completions = append(slices.Clone(r.completions[max(0, len(r.completions)+1-mostCompleted):]), done)
}

// shown is what the health of an Application is of, that has no operation: what it is Synced with, or what it has
// deployed while it is OutOfSync at another revision. It has no sources where that is not known. ok says that the
// comparison is one of after the sync. One of the second in which that ended may be older than the end. It is not if a
// comparison before it was of after the sync, too, and found something else than Healthy. One that found it OutOfSync
// does not show that it saw what was deployed.
func (r *Record) shown(app *policy.Application) (done policy.Completion, ok bool) {
	last := &app.LastSync
	done.OperatedAt, done.Since, done.Altered = app.LastOperation.StartedAt, last.Since, r.deployedWith != r.around
	if app.HealthSince.After(done.Since) {
		done.Since = app.HealthSince
	}
	switch {
	case app.SyncStatus == "Synced" && !hydrated(app):
		// A dry source is compared before it is hydrated.
	case app.SyncStatus == "Synced" && !last.AtCompared:
		done.Sources, done.From = app.Compared, r.comparedFrom
		return done, r.deployed != 0 && r.deployed == r.fingerprint
	case app.SyncStatus == "Synced":
		if app.Health != "Healthy" && app.LastOperation.Phase == "Succeeded" {
			r.settling = last.FinishedAt
		}
		done.Sources, done.By, done.From = app.Compared, last.By, r.comparedFrom
		return done, app.ReconciledAt.After(last.FinishedAt) || r.settling.Equal(last.FinishedAt)
	case app.SyncStatus == "OutOfSync" && !last.AtCompared && len(last.Other) == len(app.Compared):
		done.Sources, done.By = last.Other, last.By
		return done, app.Hydration == "" && last.ShownBy(app.ReconciledAt)
	}
	return policy.Completion{}, false
}

// Unproven reports whether a comparison is missing to tell that a Healthy Application has completed what its last sync
// deployed: one of a later second than at.
func Unproven(app *policy.Application) (at time.Time, missing bool) {
	last := &app.LastSync
	if app.OperationSet || !app.LastOperation.Full || app.LastOperation.Phase != "Succeeded" || app.Health != "Healthy" ||
		!app.SpecCompared || !last.SameSources || app.Hydration != "" {
		return at, false
	}
	switch {
	case app.SyncStatus == "Synced" && last.AtCompared:
		at = last.FinishedAt
	case app.SyncStatus == "OutOfSync" && !last.AtCompared:
		at = last.ShownAfter()
	default:
		return at, false
	}
	return at, !app.ReconciledAt.After(at)
}

// breakDown notices that an Application is Degraded, Missing or failed, and that it is so no more. To be Progressing on
// the way to a newer revision is not to be broken.
func (r *Record) breakDown(app *policy.Application, now time.Time) {
	last := &app.LastOperation
	was := r.broken
	r.broken = app.Health == "Degraded" || app.Health == "Missing" || last.Full &&
		(last.Phase == "Failed" || last.Phase == "Error") && (last.AtCompared || last.Applied || app.SyncStatus != "Synced")
	if r.broken || was {
		r.brokenAt = now
	}
}

// fail notices that a sync failed, and of what, and that one succeeded.
func (r *Record) fail(app *policy.Application) {
	switch last := &app.LastOperation; {
	case !last.Full:
	case last.Phase == "Failed" || last.Phase == "Error":
		r.failed = last.Other
		if last.AtCompared {
			r.failed = app.Compared
		}
	case last.Phase == "Succeeded":
		r.failed = nil
	}
}
