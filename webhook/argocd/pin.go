package argocd

import (
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"gomodules.xyz/jsonpatch/v2"
)

// Pin is what makes an operation deploy exactly what was judged, or nothing if Patches is empty.
type Pin struct {
	// Patches are JSON patches of the Application.
	Patches []jsonpatch.Operation
	// Revisions are the revisions that the operation deploys, one for each source.
	Revisions []string
	// Unrefreshed says that operation.retry.refresh was true and is taken back: a retry would resolve the branch again.
	Unrefreshed bool
}

// NewPin pins an operation that names no revision, and brings no source and no manifests of its own, to what Argo CD last
// compared the Application with, before the write. It needs a comparison with the spec as it is after the write, of which
// every revision is known. Like auto-sync of argo-cd v3.5.7, controller/appcontroller.go, it writes the sources, too: Argo
// CD takes them from the spec when the sync starts, and again at every retry.
//
// revision replaces the compared revision of an Application with one source; empty leaves it.
func NewPin(app, old *Application, revision string) Pin {
	if app == nil || old == nil || app.Operation == nil || app.Operation.Sync == nil || app.Operation.equals(old.Operation) {
		return Pin{}
	}
	sync, spec, status := app.Operation.Sync, app.spec(), &old.Status.Sync
	if sync.Revision != "" || len(sync.Revisions) > 0 || sync.Source != nil || len(sync.Sources) > 0 || len(sync.Manifests) > 0 {
		return Pin{}
	}
	named := revisions(status.Revision, status.Revisions)
	if !isCompared(status) || !specCompared(spec, status.ComparedTo) || len(named) == 0 || len(named) != len(spec.GetSources()) || slices.Contains(named, "") {
		return Pin{}
	}
	if revision != "" && len(named) == 1 {
		named = []string{revision}
	}
	pin := Pin{Revisions: named}
	if spec.HasMultipleSources() {
		pin.add("/operation/sync/revisions", named)
		pin.add("/operation/sync/sources", spec.Sources)
	} else {
		pin.add("/operation/sync/revision", named[0])
		pin.add("/operation/sync/source", spec.GetSource())
	}
	if app.Operation.Retry.Refresh {
		pin.Unrefreshed = true
		pin.add("/operation/retry/refresh", false)
	}
	return pin
}

// isCompared reports whether the comparison came to an end: an unknown status may hold a revision that is not resolved.
func isCompared(status *argo.SyncStatus) bool {
	return status.Status == argo.SyncStatusCodeSynced || status.Status == argo.SyncStatusCodeOutOfSync
}

// Pinned is the Application with the pinned operation. app itself stays as it is.
func (p *Pin) Pinned(app *Application) *Application {
	if len(p.Patches) == 0 {
		return app
	}
	pinned, op, sync := *app, *app.Operation, *app.Operation.Sync
	if spec := app.spec(); spec.HasMultipleSources() {
		sync.Revisions, sync.Sources = p.Revisions, spec.Sources
	} else {
		source := spec.GetSource()
		sync.Revision, sync.Source = p.Revisions[0], &source
	}
	op.Sync, op.Retry.Refresh = &sync, false
	pinned.Operation = &op
	return &pinned
}

func (p *Pin) add(path string, value any) {
	p.Patches = append(p.Patches, jsonpatch.NewOperation("add", path, value))
}
