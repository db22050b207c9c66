package history

import (
	"slices"

	"github.com/stepgate/stepgate/policy"
)

// mostCompleted bounds what is remembered of an Application.
const mostCompleted = 20

// complete notices what the Application is done with: by a sync, or because it was found Synced without one, as with a
// commit that does not touch it. What it is not Healthy with any more, it is not done with any more. Other sources than
// those that it has synced end all: a revision may be fine with the old parameters only. A comparison of the second in
// which the sync ended may be older than the end. It is not if a comparison before it was of after the sync, too, and
// found something else than Healthy.
func (r *Record) complete(app *policy.Application) {
	last, compared := &app.LastSync, app.Compared
	switch {
	case !app.SpecCompared || !last.SameSources:
		r.completions = nil
		return
	case app.OperationSet || app.LastOperation.Phase != "Succeeded" || app.SyncStatus != "Synced" || !hydrated(app):
		return // a dry source is compared before it is hydrated
	case app.Health != "Healthy" && last.AtCompared:
		r.settling = last.FinishedAt
	}
	same := func(c policy.Completion) bool { return slices.Equal(c.Sources, compared) }
	if app.Health != "Healthy" {
		r.completions = slices.DeleteFunc(slices.Clone(r.completions), same)
		return
	}
	untouched := !last.AtCompared && r.deployed != 0 && r.deployed == r.fingerprint
	if !untouched && (!last.AtCompared || !app.ReconciledAt.After(last.FinishedAt) && !r.settling.Equal(last.FinishedAt)) {
		return
	}
	done := policy.Completion{Sources: compared, OperatedAt: app.LastOperation.StartedAt}
	at := slices.IndexFunc(r.completions, same)
	switch {
	case at >= 0 && r.completions[at].OperatedAt.Equal(done.OperatedAt):
	case at >= 0:
		r.completions = slices.Clone(r.completions)
		r.completions[at] = done
	default:
		r.completions = append(slices.Clone(r.completions[max(0, len(r.completions)+1-mostCompleted):]), done)
	}
}

// fail notices that a sync of what is compared failed, and that one succeeded.
func (r *Record) fail(app *policy.Application) {
	switch last := &app.LastOperation; {
	case !last.Full || !last.AtCompared:
	case last.Phase == "Failed" || last.Phase == "Error":
		r.failed = app.Compared
	case last.Phase == "Succeeded":
		r.failed = nil
	}
}
