package history

import (
	"cmp"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Deployed reports whether the Application was seen Synced with what it is compared with, and no operation since. Its
// last operation started at operatedAt: where the watch lags, and has not seen that one, it does not tell.
func (r *Record) Deployed(compared argocd.Fingerprint, operatedAt time.Time) bool {
	return r != nil && r.deployed != 0 && r.deployed == compared && r.operatedAt.Equal(operatedAt)
}

// DeployedWith is what was around the sources when the Application was last seen to be deployed. Where that was not
// seen, known is false, and it is what was first seen to be around them; empty when nothing was seen. An operation that
// was not seen to have ended may have, and deploys by what was there when it began.
func (r *Record) DeployedWith() (around string, known bool) {
	switch {
	case r == nil:
		return "", false
	case r.operating && r.deployedWith != "" && r.deployedWith != r.syncingWith:
		return otherwise, true
	case r.operating && r.syncingWith != otherwise:
		return r.syncingWith, r.deployedWith != ""
	default:
		return cmp.Or(r.deployedWith, r.first), r.deployedWith != ""
	}
}

// otherwise is what is not known, and is not what the spec says.
const otherwise = "otherwise"

// deploy notices by what beside its sources the Application is deployed: by its spec when it is Synced with that, and
// by what a full sync began with when that has succeeded. A hydrated Application may be Synced with what was hydrated
// before its spec changed.
func (r *Record) deploy(p *argocd.Projection, position uint64) {
	app, last := &p.Application, &p.Application.LastOperation
	operating := app.OperationSet || last.Running()
	if !operating && r.operating {
		r.ended = position
	}
	first := r.around == ""
	switch {
	case operating && first:
		r.syncingWith = otherwise // it began before it was seen
	case operating && !r.operating:
		r.syncingWith = p.Around
	case !operating && r.operating && app.LastOperation.Full && app.LastOperation.Phase == "Succeeded":
		r.deployedWith = r.syncingWith
	}
	switch {
	case operating:
	case first && unchangedSinceSync(p):
		r.deployedWith = p.Around
	case !app.SpecCompared && r.deployedWith == "":
		r.deployedWith = otherwise // until the comparison tells, as after a restart
	case !app.SpecCompared:
	case app.Moved:
		r.deployedWith = otherwise // seen even if the deployment was not, as after a restart
	case app.SyncStatus == "Synced" && (p.NamespaceChanged || !hydrated(app)):
	case app.SyncStatus == "Synced":
		r.deployedWith = p.Around
	case r.deployedWith == otherwise:
		r.deployedWith = ""
	}
	r.prove(p, operating)
	r.operating, r.operatedAt, r.around = operating, last.StartedAt, p.Around
}

// unchangedSinceSync reports whether the spec was last written in an earlier second than the one in which the last full
// sync began, which has succeeded, as far as the object tells. Where that is not so, an Application that was OutOfSync
// at the start holds later steps up until it was Synced once: from argo-cd v3.3 on nobody repairs drift, so that this
// had better be rare.
func unchangedSinceSync(p *argocd.Projection) bool {
	last := &p.Application.LastOperation
	return last.Full && last.Phase == "Succeeded" && !p.ContentSince.IsZero() &&
		p.ContentSince.Before(last.StartedAt.Truncate(time.Second))
}

// hydrated reports whether nothing is left to hydrate for an Application.
func hydrated(app *policy.Application) bool {
	return app.Hydration == "" || app.Hydration == "Hydrated"
}

// prove notices what is deployed. After an operation to another revision than the compared one, such as a rollback,
// Synced may be the status of before, or a comparison with the cluster of before. One that was Synced all the time has
// to be so later on, too, unless the operation has only repeated the last sync.
func (r *Record) prove(p *argocd.Projection, operating bool) {
	app, last, synced := &p.Application, &p.Application.LastOperation, p.Application.SyncStatus == "Synced"
	missed := !last.StartedAt.Equal(r.operatedAt) // an operation that was not seen while it was there, as after a restart
	switch {
	case !synced:
		r.unproven = 0
	case operating || missed:
		r.unproven = p.Compared
	case r.operating && last.Full && last.Phase == "Succeeded" && !r.since.IsZero() && app.LastSync.Since.Equal(r.since):
		r.unproven = 0
	}
	if !operating {
		r.since = app.LastSync.Since
	}
	switch {
	case operating:
		r.deployed = 0
	case synced && app.SpecCompared &&
		(last.FinishedAt.IsZero() || last.AtCompared || r.comparedAfter(p, last.FinishedAt)):
		r.deployed = p.Compared
	case missed:
		r.deployed = 0
	}
}

// comparedAfter reports whether the Application was compared after its last operation had ended: by the times, or
// because a request that was seen after the end was answered.
func (r *Record) comparedAfter(p *argocd.Projection, finished time.Time) bool {
	at := p.Application.ReconciledAt
	if r.unproven == p.Compared {
		return at.Sub(finished) > policy.ClusterLag
	}
	return at.After(finished) || r.ended > 0 && r.fresh > r.ended
}
