package history

import (
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Found is what the Application was found Synced with since its last operation, which started at operatedAt: it is
// deployed, whoever has deployed it. Where the watch lags, and has not seen that operation, it does not tell.
func (r *Record) Found(operatedAt time.Time) (found argocd.Content) {
	if r == nil || !r.operatedAt.Equal(operatedAt) {
		return found
	}
	return r.found
}

// find notices what the Application is found Synced with. A comparison soon after an operation to something else may be
// of the cluster before that. A hydrated Application may be Synced with what was hydrated before its spec changed.
func (r *Record) find(p *argocd.Projection) {
	app, last := &p.Application, &p.Application.LastOperation
	if !last.StartedAt.Equal(r.operatedAt) {
		r.operatedAt, r.found = last.StartedAt, argocd.Content{} // it may have deployed anything
	}
	switch {
	case app.OperationSet || last.Running():
		r.found = argocd.Content{}
	case !app.SpecCompared || app.SyncStatus != "Synced" || p.NamespaceChanged || !hydrated(app):
	case app.LastFull.AtCompared || last.FinishedAt.IsZero() ||
		app.ReconciledAt.Sub(last.FinishedAt) > policy.ClusterLag:
		r.found = p.Content
	}
}

// hydrated reports whether nothing is left to hydrate for an Application.
func hydrated(app *policy.Application) bool {
	return app.Hydration == "" || app.Hydration == "Hydrated"
}
