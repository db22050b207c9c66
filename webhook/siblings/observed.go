package siblings

import (
	"cmp"
	"slices"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// observed is what is remembered of one Application. It does not change any more once decisions can see it: each event makes another one.
type observed struct {
	name  string
	owner Owner

	compared    []policy.Source
	fingerprint argocd.Fingerprint
	syncStatus  string
	// changed is the position at which the change that is pending on it was first seen.
	changed uint64
	// reconciledAt is the time of the last comparison, and comparedAt the position at which that was seen.
	reconciledAt time.Time
	comparedAt   uint64

	// requested is the position at which the unanswered request for a refresh was seen; zero when there is none.
	requested uint64
	// lastRequested is the position of the newest request, answered or not.
	lastRequested uint64
	// fresh is the position of the newest request that was answered, if nothing else has been compared since.
	fresh uint64

	// settling is when the last sync ended after which it was seen not to be Healthy; zero when it was not.
	settling time.Time
	// completions are the newest things that it has completed, as long as its sources do not change.
	completions []policy.Completion

	// content stands for its spec, which has been the same since contentSince at the latest, and contentBefore for the one before.
	content, contentBefore argocd.Fingerprint
	contentSince           time.Time
	around                 string
	// first is what was around its sources when it was first seen. It counts as deployed until something else is known.
	first string
	// deployedWith is what was around its sources when it was last seen to be deployed; empty when that was not seen.
	deployedWith string
	// deployed stands for the comparison at which it was last seen Synced, if no operation has been seen since; zero when
	// there is none. An operation may deploy another revision than the compared one.
	deployed argocd.Fingerprint
	// unproven stands for the comparison at which it was Synced while an operation was there; zero when it was not.
	unproven argocd.Fingerprint
	// since is policy.LastSync.Since as it was seen last without an operation.
	since time.Time
	// operatedAt is when the last operation started, and appliedAt when the last one did that was seen to apply everything.
	operatedAt, appliedAt time.Time
	// failed is what it was compared with when its last full sync of that was seen to have failed; nil when there is none.
	failed []policy.Source
	// operating says that an operation waits or runs, ended is the position at which the last one was seen to have ended, and
	// syncingWith what was around the sources when it began.
	operating   bool
	ended       uint64
	syncingWith string
}

// past is what a decision may know, by the position of the change that the target deploys and by the position of the target's comparison.
func (o *observed) past(changed, compared uint64) policy.Past {
	past := policy.Past{Completions: o.completions, Applied: o.appliedAt, Failed: o.failed, Altered: o.deployedWith != o.around}
	switch {
	case o.fresh > max(changed, compared):
		past.Freshness = policy.Newest
	case o.fresh > changed:
		past.Freshness = policy.Fresh
	}
	return past
}

// specify notices a change of the spec, and reports whether it is news. It is none if the spec is what it was before the last change: two writers
// who never agree would hold everybody up for ever.
func (o *observed) specify(p *Projection, appeared, now time.Time) (news bool) {
	switch {
	case o.content == p.Content:
		return false
	case o.content != 0:
		o.contentSince = now
	default:
		o.contentSince = cmp.Or(appeared, p.ContentSince, now)
	}
	news = p.Content != o.contentBefore
	o.contentBefore, o.content = o.content, p.Content
	return news
}

// compare notices a comparison, and a new pending change. The pending change is another one when the compared sources, their parameters or
// revisions change, and when the Application becomes OutOfSync. Comparing the same again changes nothing.
func (o *observed) compare(p *Projection, position uint64) {
	app, same := &p.Application, o.comparedWith(p.Application.Compared, p.Compared)
	if !same || !app.ReconciledAt.Equal(o.reconciledAt) || o.requested != 0 && !app.RefreshRequested {
		o.comparedAt = position
	}
	if !same || app.SyncStatus == "OutOfSync" && o.syncStatus != "OutOfSync" {
		o.changed = position
	}
	if !same {
		// Another comparison than the one that answered may have used a cached revision.
		o.fresh = 0
	}
}

// comparedWith reports whether the last comparison was with these sources and revisions. Those of a hydrated source are in git;
// the fingerprint is of what they were hydrated to.
func (o *observed) comparedWith(compared []policy.Source, fingerprint argocd.Fingerprint) bool {
	return o.fingerprint == fingerprint && slices.Equal(o.compared, compared)
}

// refresh notices requests for a refresh and their answers. Argo CD (v3.5.7, controller/appcontroller.go,
// persistAppStatus) removes the annotation only if the comparison began with it: the comparison is then newer than the
// write that set it, and did not use cached revisions.
func (o *observed) refresh(app *policy.Application, position uint64) {
	switch {
	case app.RefreshRequested && o.requested == 0:
		o.requested, o.lastRequested = position, position
	case !app.RefreshRequested && o.requested != 0:
		if app.SyncStatus == "Synced" || app.SyncStatus == "OutOfSync" {
			o.fresh = o.requested
		}
		o.requested = 0
	}
}

// mostCompleted bounds what is remembered of an Application.
const mostCompleted = 20

// complete notices what the Application is done with: by a sync, or because it was found Synced without one, as with a commit that does not
// touch it. What it is not Healthy with any more, it is not done with any more. Other sources than those that it has synced end all: a
// revision may be fine with the old parameters only. A comparison of the second in which the sync ended may be older than the end. It
// is not if a comparison before it was of after the sync, too, and found something else than Healthy.
func (o *observed) complete(app *policy.Application) {
	last, compared := &app.LastSync, app.Compared
	switch {
	case !app.SpecCompared || !last.SameSources:
		o.completions = nil
		return
	case app.OperationSet || app.LastOperation.Phase != "Succeeded" || app.SyncStatus != "Synced" || !hydrated(app):
		return // a dry source is compared before it is hydrated
	case app.Health != "Healthy" && last.AtCompared:
		o.settling = last.FinishedAt
	}
	same := func(c policy.Completion) bool { return slices.Equal(c.Sources, compared) }
	if app.Health != "Healthy" {
		o.completions = slices.DeleteFunc(slices.Clone(o.completions), same)
		return
	}
	untouched := !last.AtCompared && o.deployed != 0 && o.deployed == o.fingerprint
	if !untouched && (!last.AtCompared || !app.ReconciledAt.After(last.FinishedAt) && !o.settling.Equal(last.FinishedAt)) {
		return
	}
	done := policy.Completion{Sources: compared, OperatedAt: app.LastOperation.StartedAt}
	at := slices.IndexFunc(o.completions, same)
	switch {
	case at >= 0 && o.completions[at].OperatedAt.Equal(done.OperatedAt):
	case at >= 0:
		o.completions = slices.Clone(o.completions)
		o.completions[at] = done
	default:
		o.completions = append(slices.Clone(o.completions[max(0, len(o.completions)+1-mostCompleted):]), done)
	}
}

// fail notices that a sync of what is compared failed, and that one succeeded.
func (o *observed) fail(app *policy.Application) {
	switch last := &app.LastOperation; {
	case !last.Full || !last.AtCompared:
	case last.Phase == "Failed" || last.Phase == "Error":
		o.failed = app.Compared
	case last.Phase == "Succeeded":
		o.failed = nil
	}
}

// otherwise is what is not known, and is not what the spec says.
const otherwise = "otherwise"

// deploy notices by what beside its sources the Application is deployed: by its spec when it is Synced with that, and by what a full sync began
// with when that has succeeded. A hydrated Application may be Synced with what was hydrated before its spec changed.
func (o *observed) deploy(p *Projection, position uint64) {
	app, last := &p.Application, &p.Application.LastOperation
	operating := app.OperationSet || last.Running()
	if !operating && o.operating {
		o.ended = position
	}
	first := o.around == ""
	switch {
	case operating && first:
		o.syncingWith = otherwise // it began before it was seen
	case operating && !o.operating:
		o.syncingWith = p.Around
	case !operating && o.operating && app.LastOperation.Full && app.LastOperation.Phase == "Succeeded":
		o.deployedWith = o.syncingWith
	}
	switch {
	case operating:
	case first && unchangedSinceSync(p):
		o.deployedWith = p.Around
	case !app.SpecCompared && o.deployedWith == "":
		o.deployedWith = otherwise // until the comparison tells, as after a restart
	case !app.SpecCompared:
	case app.Moved:
		o.deployedWith = otherwise // seen even if the deployment was not, as after a restart
	case app.SyncStatus == "Synced" && (p.NamespaceChanged || !hydrated(app)):
	case app.SyncStatus == "Synced":
		o.deployedWith = p.Around
	case o.deployedWith == otherwise:
		o.deployedWith = ""
	}
	o.prove(p, operating)
	o.operating, o.operatedAt, o.around = operating, last.StartedAt, p.Around
}

// clusterLag is how long after an operation Argo CD may compare with what it saw of the cluster before. Usually that is a fraction of a second.
const clusterLag = 5 * time.Second

// unchangedSinceSync reports whether the spec was last written in an earlier second than the one in which the last full sync began, which has
// succeeded, as far as the object tells. Where that is not so, an Application that was OutOfSync at the start holds later steps up until it was
// Synced once: from argo-cd v3.3 on nobody repairs drift, so that this had better be rare.
func unchangedSinceSync(p *Projection) bool {
	last := &p.Application.LastOperation
	return last.Full && last.Phase == "Succeeded" && !p.ContentSince.IsZero() && p.ContentSince.Before(last.StartedAt.Truncate(time.Second))
}

// hydrated reports whether nothing is left to hydrate for an Application.
func hydrated(app *policy.Application) bool {
	return app.Hydration == "" || app.Hydration == "Hydrated"
}

// prove notices what is deployed. After an operation to another revision than the compared one, such as a rollback, Synced may be the status of
// before, or a comparison with the cluster of before. One that was Synced all the time has to be so later on, too, unless the operation has only
// repeated the last sync.
func (o *observed) prove(p *Projection, operating bool) {
	app, last, synced := &p.Application, &p.Application.LastOperation, p.Application.SyncStatus == "Synced"
	missed := !last.StartedAt.Equal(o.operatedAt) // an operation that was not seen while it was there, as after a restart
	switch {
	case !synced:
		o.unproven = 0
	case operating || missed:
		o.unproven = p.Compared
	case o.operating && last.Full && last.Phase == "Succeeded" && !o.since.IsZero() && app.LastSync.Since.Equal(o.since):
		o.unproven = 0
	}
	if !operating {
		o.since = app.LastSync.Since
	}
	switch {
	case operating:
		o.deployed = 0
	case synced && app.SpecCompared && (last.FinishedAt.IsZero() || last.AtCompared || o.comparedAfter(p, last.FinishedAt)):
		o.deployed = p.Compared
	case missed:
		o.deployed = 0
	}
}

// comparedAfter reports whether the Application was compared after its last operation had ended: by the times, or because a
// request that was seen after the end was answered.
func (o *observed) comparedAfter(p *Projection, finished time.Time) bool {
	at := p.Application.ReconciledAt
	if o.unproven == p.Compared {
		return at.Sub(finished) > clusterLag
	}
	return at.After(finished) || o.ended > 0 && o.fresh > o.ended
}
