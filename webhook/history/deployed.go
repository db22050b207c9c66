// SPDX-License-Identifier: Apache-2.0

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

// find notices what the Application is found Synced with. A hydrated Application may be Synced with what was hydrated
// before its spec changed.
func (r *Record) find(p *argocd.Projection) {
	app, last := &p.Application, &p.Application.LastOperation
	operating := app.OperationSet || last.Running()
	r.idle = !operating
	synced := app.SyncStatus == "Synced"
	if missed := !last.StartedAt.Equal(r.operatedAt); operating || missed {
		r.operatedAt, r.found = last.StartedAt, argocd.Content{} // it may deploy anything
		if r.unproven = 0; synced {
			r.unproven = p.Compared
		}
	}
	if !synced {
		r.unproven = 0
	}
	if synced && !operating && app.SpecCompared && !p.NamespaceChanged && hydrated(app) && r.sees(p) {
		r.found = p.Content
	}
}

// sees reports whether a comparison that finds the Application Synced has seen what its last operation did. One that was
// Synced with the same all the time may be of the cluster before that, for a moment, if the operation deployed something
// else.
func (r *Record) sees(p *argocd.Projection) bool {
	app, ended := &p.Application, p.Application.LastOperation.FinishedAt
	switch {
	case app.LastFull.AtCompared && app.LastFull.Phase == "Succeeded" || ended.IsZero():
		return true
	case r.unproven == p.Compared:
		return app.ReconciledAt.Sub(ended) > policy.ClusterLag
	}
	return app.ReconciledAt.After(ended)
}

// hydrated reports whether nothing is left to hydrate for an Application.
func hydrated(app *policy.Application) bool {
	return app.Hydration == "" || app.Hydration == "Hydrated"
}
