// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/utils/ptr"
)

// Pin is what makes an operation deploy exactly what was judged, or nothing if Patches is empty.
type Pin struct {
	// Patches are JSON patches of the Application.
	Patches []jsonpatch.Operation
	// Revisions are the revisions that the operation deploys, one for each source.
	Revisions []string
	// Named says that the operation names them itself.
	Named bool
	// Unrefreshed says that operation.retry.refresh was true and is taken back: a retry would resolve the branch again.
	Unrefreshed bool
	// Retries is how often the operation is tried again, if that is less than it says; else nil.
	Retries *int64
}

// retriesWithin is how long an operation is tried again that would have found a repair with retry.refresh.
const retriesWithin = 5 * time.Minute

// BoundRetries leaves an operation that is pinned without its retry.refresh as many retries as fit into 5 minutes: each
// would fail at the same commit, and the repair waits for the end of them.
func (p *Pin) BoundRetries(app *Application) {
	if !p.Unrefreshed {
		return
	}
	retry := &app.Operation.Retry
	if most := retriesIn(retry, retriesWithin); retry.Limit < 0 || retry.Limit > most {
		p.Retries = &most
		p.add("/operation/retry/limit", most)
	}
}

// retriesIn is how many retries begin within a time, if each attempt fails at once. Argo CD waits as if each retry had been
// made already (argo-cd v3.5.7, processRequestedAppOperation in controller/appcontroller.go). One second is the least that
// an attempt takes. Where the times cannot be read, Argo CD makes none.
func retriesIn(retry *argo.RetryStrategy, within time.Duration) (n int64) {
	for ended := (time.Time{}); ; n++ {
		next, err := retry.NextRetryAt(ended, n+1)
		if within -= max(next.Sub(ended), time.Second); err != nil || within < 0 {
			return n
		}
	}
}

// NewPin pins an operation that brings no manifests of its own. One that names no revision, and brings no source, gets
// those that Argo CD last compared the Application with, before the write. It needs a comparison with the spec as it is
// after the write, of which every revision is known. One that names all its revisions keeps them.
//
// Like auto-sync of argo-cd v3.5.7, controller/appcontroller.go, it writes the sources, too: Argo CD takes them from
// the spec when the sync starts, and again at every retry.
//
// candidate are other revisions than the compared ones, one for each source; nil leaves those. They replace those of
// auto-sync, too, which names what it has compared.
//
// An Application that an agent reports is not pinned: nothing tells of which spec the reported revision is.
func NewPin(app, old *Application, candidate []string) Pin {
	if app == nil || old == nil || old.reported() || app.Operation == nil || app.Operation.Sync == nil ||
		app.Operation.equals(old.Operation) || len(app.Operation.Sync.Manifests) > 0 {
		return Pin{}
	}
	sync, spec, status := app.Operation.Sync, app.spec(), &old.Status
	var pin Pin
	switch d := deploymentOf(sync, spec); {
	case d.pinned(compared(spec, &status.Sync, &status.SourceHydrator)):
		pin.Revisions, pin.Named = d.revisions, true
		if app.Operation.InitiatedBy.Automated && len(candidate) == len(d.sources) && !d.foreign(spec) &&
			spec.HasMultipleSources() == (len(sync.Sources) > 0) &&
			slices.Equal(d.revisions, comparedRevisions(spec, &status.Sync)) {
			pin.Named = false
			pin.name(spec, candidate)
		}
	case sync.Revision != "" || len(sync.Revisions) > 0 || d.overrides:
		return Pin{}
	default:
		if pin.Revisions = comparedRevisions(spec, &status.Sync); pin.Revisions == nil {
			return Pin{}
		}
		pin.name(spec, candidate)
	}
	if sync.Source == nil && len(sync.Sources) == 0 {
		pin.bring(app)
	}
	if app.Operation.Retry.Refresh {
		pin.Unrefreshed = true
		pin.add("/operation/retry/refresh", false)
	}
	if len(pin.Patches) == 0 {
		return Pin{}
	}
	return pin
}

// comparedRevisions are the revisions of a comparison with this spec, one for each source; nil if one is not known.
func comparedRevisions(spec *argo.ApplicationSpec, status *argo.SyncStatus) []string {
	named := revisions(status.Revision, status.Revisions)
	if !isCompared(status) || !specCompared(spec, status.ComparedTo) || len(named) == 0 ||
		len(named) != len(spec.GetSources()) || slices.Contains(named, "") {
		return nil
	}
	return named
}

// name writes the revisions into the operation: those of a candidate, if there is one.
func (p *Pin) name(spec *argo.ApplicationSpec, candidate []string) {
	if len(candidate) == len(p.Revisions) {
		p.Revisions = candidate
	}
	if spec.HasMultipleSources() {
		p.add("/operation/sync/revisions", p.Revisions)
	} else {
		p.add("/operation/sync/revision", p.Revisions[0])
	}
}

// bring writes the sources into the operation, to the letter: a field that is left out would be deployed with its
// default. The source of a hydrated Application is no field of the spec.
func (p *Pin) bring(app *Application) {
	switch spec := app.spec(); {
	case spec.HasMultipleSources():
		p.add("/operation/sync/sources", app.Spec.exact("sources", spec.Sources))
	case spec.SourceHydrator != nil:
		p.add("/operation/sync/source", spec.GetSource())
	default:
		p.add("/operation/sync/source", app.Spec.exact("source", spec.GetSource()))
	}
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
	switch spec := app.spec(); {
	case len(sync.Sources) > 0:
		sync.Revisions = p.Revisions
	case sync.Source != nil:
		sync.Revision = p.Revisions[0]
	case spec.HasMultipleSources():
		sync.Revisions, sync.Sources = p.Revisions, spec.Sources
	default:
		source := spec.GetSource()
		sync.Revision, sync.Source = p.Revisions[0], &source
	}
	op.Sync, op.Retry.Refresh = &sync, false
	op.Retry.Limit = ptr.Deref(p.Retries, op.Retry.Limit)
	pinned.Operation = &op
	return &pinned
}

func (p *Pin) add(path string, value any) {
	p.Patches = append(p.Patches, jsonpatch.NewOperation("add", path, value))
}
