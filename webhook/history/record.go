// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Record is what is remembered of one Application, as its watch has told it. It does not change: each event makes
// another one.
type Record struct {
	compared    []policy.Source
	fingerprint argocd.Fingerprint
	// wasOutOfSync says that the last comparison found it OutOfSync.
	wasOutOfSync bool
	// changed is the position at which the change that is pending on it was first seen.
	changed uint64
	// reconciledAt is the time of the last comparison, and comparedAt the position at which that was seen.
	reconciledAt time.Time
	comparedAt   uint64

	// requested is the position at which the oldest unanswered request for a refresh was seen, and requestedAt when; zero
	// when there is none.
	requested   uint64
	requestedAt time.Time
	// lastRequested is the position of the newest request, answered or not. wasRequested says that it was there a moment
	// ago.
	lastRequested uint64
	wasRequested  bool
	// fresh is the position of the newest request that was answered, if nothing else has been compared since.
	fresh uint64

	// settling is when the last sync ended after which it was seen not to be Healthy; zero when it was not.
	settling time.Time
	// completions are the newest things that it has completed, as long as its sources do not change.
	completions []policy.Completion
	// comparedFrom is the position at which it was first seen to be compared with what it is compared with; zero if that
	// was there before.
	comparedFrom uint64
	// order are the newest things that it was compared with, by when it was compared with each for the first time.
	order [][]policy.Source
	// runs and runsFrom are those of policy.Past.
	runs     policy.Source
	runsFrom uint64
	// broken says that it is Degraded, Missing or failed, and brokenAt is policy.Past.Broken.
	broken   bool
	brokenAt time.Time

	// content stands for its spec, which has been the same since contentSince at the latest, and contentBefore for the
	// one before.
	content, contentBefore argocd.Content
	contentSince           time.Time
	// contentVersion is a resourceVersion at which it had that spec; empty if it is not known any more.
	contentVersion string
	// byAnother says that somebody else than the ApplicationSet controller has written that.
	byAnother bool
	around    string
	// altered and unknown are policy.Past.Altered and Unproven.
	altered, unknown bool
	// found is what it was found Synced with since its last operation; the zero Content when it was not.
	found argocd.Content
	// unproven stands for the comparison at which it was Synced while its last operation was there; zero when it was not.
	unproven argocd.Fingerprint
	// operatedAt is when the last operation started, and appliedAt when the last one did that was seen to apply
	// everything.
	operatedAt, appliedAt time.Time
	// idle says that no operation waited or ran.
	idle bool
	// fullAt is when its last full sync started, and healthySince since when it is Healthy; zero if it is not.
	fullAt, healthySince time.Time
	// ran is its history, and newest the number of its newest entry.
	ran    []policy.Source
	newest int64
	// parameters stands for its sources without their revisions.
	parameters string
	// lostAt is when it was last seen to have other sources than those that its completions are of.
	lostAt time.Time
	// report stands for what an agent reports of it, 0 if none does, and reportedAt is when that was seen to change.
	report     argocd.Fingerprint
	reportedAt time.Time
}

// Event is when something was seen of an Application.
type Event struct {
	// Position numbers the events of all Applications. It is greater than 0.
	Position uint64
	// At is the time of now.
	At time.Time
	// Appeared is when an Application that was not seen before has appeared; zero if it may have been there before.
	Appeared time.Time
	// Trusted says that what is around the sources of an Application that was not seen before is taken for what it was
	// deployed with.
	Trusted bool
	// Kept is what was known of an Application that was not seen before; nil if nothing was.
	Kept *Kept
}

// Next is the record after an event. The record before it is nil where the Application was not seen yet. Respecified
// says that its spec is new, and may be that of others soon.
func (r *Record) Next(p *argocd.Projection, e Event) (next *Record, respecified bool) {
	next = &Record{changed: e.Position, comparedAt: e.Position}
	if e.Trusted {
		next.found.Around, next.operatedAt = p.Content.Around, p.Application.LastOperation.StartedAt
	}
	app := &p.Application
	switch {
	case r != nil:
		*next = *r
		next.compare(p, e.Position)
	case e.Kept != nil:
		next.resume(e.Kept, p, e.At)
	}
	next.inOrder(app.Compared)
	next.run(app, e.Position)
	next.hear(p, e.At)
	next.refresh(p, e)
	next.compared, next.fingerprint, next.reconciledAt = app.Compared, p.Compared, app.ReconciledAt
	next.wasOutOfSync, next.wasRequested = app.SyncStatus == "OutOfSync", app.RefreshRequested
	next.find(p)
	next.altered, next.unknown = p.Content.Altered(p.Deployed, next.found)
	next.unknown = next.unknown && p.Controlled() // the operations of others get no stamp
	next.complete(p, next.around != "" && next.around != p.Content.Around, e.At)
	next.breakDown(app, e.At)
	if app.LastFull.Applied {
		next.appliedAt = app.LastFull.StartedAt
	}
	next.state(p)
	return next, next.specify(p, e)
}

// Past is what a decision may know, by the position of the change that the target deploys and by the position of the
// target's comparison.
func (r *Record) Past(changed, compared uint64) policy.Past {
	past := policy.Past{
		Completions: r.notAhead(), Applied: r.appliedAt, OperatedAt: r.operatedAt, Idle: r.idle,
		Altered: r.altered, Unproven: r.unknown, Broken: r.brokenAt, Runs: r.runs, RunsFrom: r.runsFrom,
		Respecified: r.report != 0 && !r.reportsSpec(),
	}
	switch {
	case r.report != 0:
		past.Freshness = policy.Fresh // no request makes it newer
	case r.fresh > max(changed, compared):
		past.Freshness = policy.Newest
	case r.fresh > changed:
		past.Freshness = policy.Fresh
	}
	return past
}

// Changed is the position at which the change that is pending was first seen, where the Application is compared with
// these sources and revisions. Known is false if that comparison was not seen.
func (r *Record) Changed(compared []policy.Source, fingerprint argocd.Fingerprint) (position uint64, known bool) {
	if r == nil || !r.comparedWith(compared, fingerprint) {
		return 0, false
	}
	return r.changed, true
}

// ComparedAt is the position at which the last comparison was seen, which was at a time. Known is false if that
// comparison was not seen.
func (r *Record) ComparedAt(reconciledAt time.Time) (position uint64, known bool) {
	if r == nil || !r.reconciledAt.Equal(reconciledAt) {
		return 0, false
	}
	return r.comparedAt, true
}

// RequestedSince reports whether a refresh was seen to be requested after a position.
func (r *Record) RequestedSince(position uint64) bool { return r != nil && r.lastRequested > position }

// ComparedSince reports whether a comparison was seen after a position. Two comparisons of one second have the same time.
func (r *Record) ComparedSince(position uint64) bool { return r != nil && r.comparedAt > position }

// ContentSince is since when the Application has a spec of this content, and whether somebody else than its
// ApplicationSet controller has written it. Known is false if that was not seen.
func (r *Record) ContentSince(content argocd.Content) (since time.Time, byAnother, known bool) {
	if r == nil || r.content != content.Unrevised() {
		return time.Time{}, false, false
	}
	return r.contentSince, r.byAnother, true
}

// Around is what it had around its sources; empty if it was not seen.
func (r *Record) Around() string {
	if r == nil {
		return ""
	}
	return r.content.Around
}

// ContentVersion is a resourceVersion at which the Application had its spec, the first one that was seen; empty if that is
// not known any more.
func (r *Record) ContentVersion() string { return r.contentVersion }

// specify notices a change of the spec, and reports whether it is news for the others. It is none if the spec is what it
// was before the last change: two writers who never agree would hold everybody up for ever. Nor is what somebody else
// than the ApplicationSet controller writes.
func (r *Record) specify(p *argocd.Projection, e Event) (news bool) {
	content := p.Content.Unrevised()
	switch {
	case r.content == content:
		return false
	case r.content != (argocd.Content{}):
		r.contentSince = e.At
	default:
		r.contentSince = cmp.Or(e.Appeared, p.ContentSince, e.At)
	}
	r.byAnother, r.contentVersion = p.ByAnother, p.ResourceVersion
	news = content != r.contentBefore && !r.byAnother
	r.contentBefore, r.content = r.content, content
	return news
}

// compare notices a comparison, and a new pending change. The pending change is another one when the compared sources,
// their parameters or revisions change, and when the Application becomes OutOfSync. Comparing the same again changes
// nothing.
func (r *Record) compare(p *argocd.Projection, position uint64) {
	app, same := &p.Application, r.comparedWith(p.Application.Compared, p.Compared)
	if !same || !app.ReconciledAt.Equal(r.reconciledAt) || r.wasRequested && !app.RefreshRequested {
		r.comparedAt = position
	}
	if !same {
		r.comparedFrom = position
	}
	if !same || app.SyncStatus == "OutOfSync" && !r.wasOutOfSync {
		r.changed = position
	}
	if !same {
		// Another comparison than the one that answered may have used a cached revision.
		r.fresh = 0
	}
}

// run notices what the Application has deployed last.
func (r *Record) run(app *policy.Application, position uint64) {
	if n := len(app.Ran); n > 0 && (r.runsFrom == 0 || app.Ran[n-1] != r.runs) {
		r.runs, r.runsFrom = app.Ran[n-1], position
	}
}

// hear notices that an agent reports something else.
func (r *Record) hear(p *argocd.Projection, now time.Time) {
	if r.report != 0 && r.report != p.Report {
		r.reportedAt = now
	}
	r.report = p.Report
}

// reportsSpec reports whether what an agent reports is of the spec that the Application has now: of an operation that has
// started since, or of a comparison that was reported so long after the change that the agent has seen that.
func (r *Record) reportsSpec() bool {
	return !r.operatedAt.Before(r.contentSince.Truncate(time.Second)) ||
		r.reportedAt.After(r.contentSince.Add(policy.SettlingTime))
}

// comparedWith reports whether the last comparison was with these sources and revisions. Those of a hydrated source are
// in git; the fingerprint is of what they were hydrated to.
func (r *Record) comparedWith(compared []policy.Source, fingerprint argocd.Fingerprint) bool {
	return r.fingerprint == fingerprint && slices.Equal(r.compared, compared)
}

// refresh notices requests for a refresh and their answers. Argo CD (v3.5.7, controller/appcontroller.go,
// persistReconciliationStatus) removes the annotation only if the comparison began with it, and writes the time of that
// in the same patch: the comparison is then newer than the write that set the annotation, and did not use cached
// revisions. Where the time is no later, somebody else may have taken the annotation away: nothing is answered, until a
// comparison has ended that may have begun with it.
func (r *Record) refresh(p *argocd.Projection, e Event) {
	app := &p.Application
	later := app.ReconciledAt.After(r.reconciledAt)
	switch {
	case app.RefreshRequested && !r.wasRequested:
		if r.lastRequested = e.Position; r.requested == 0 {
			r.requested, r.requestedAt = e.Position, e.At
		}
	case !app.RefreshRequested && later && !r.mayPrecede(p):
		if r.wasRequested && (app.SyncStatus == "Synced" || app.SyncStatus == "OutOfSync") {
			r.fresh = r.requested
		}
		r.requested = 0
	}
}

// mayPrecede reports whether the last comparison may have begun before the other cluster had heard of the request. The
// principal of argocd-agent removes the annotation with each report of an Application that does not have it, as one that
// was under way, or waited for a connection, when the request was made (UpdateStatus in
// internal/manager/application/application.go). Both clocks count here: how far they differ is a part of SettlingTime.
func (r *Record) mayPrecede(p *argocd.Projection) bool {
	return p.Relayed && p.Application.ReconciledAt.Before(r.requestedAt.Add(policy.SettlingTime))
}
