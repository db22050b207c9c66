// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"strconv"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// State is what an Application deploys, and where to: a path of its repository at a commit, or the version of a chart.
// Those of several sources are joined with commas.
type State struct {
	Revision, Path, Destination string
}

// Observation is one Application as a watch showed it.
type Observation struct {
	// ResourceVersion orders the observations of a cluster.
	ResourceVersion uint64
	// At is when it was received, for durations; the order never depends on it.
	At   time.Time
	Name string
	// Gone says that it was deleted, or is being deleted.
	Gone bool
	// OperationSet says that an operation was waiting or running, and DryRun that this one deploys nothing.
	OperationSet, DryRun bool
	// Synced says that the last comparison found nothing to do; Compared is the state it compared with.
	Synced   bool
	Compared State
	// Leftover says that it found nothing to do but to prune.
	Leftover bool
	Health   string
	// Phase is the phase of the last operation that the controller took up, and Operated the state that it deployed, if
	// known. An operation has no result of its own for the destination: Operated has the destination of the spec.
	Phase string
	// Parked says that the controller has taken up the operation that is set, and has left it without a revision: it
	// waits for a sync window.
	Parked bool
	// Later says that the last comparison is of a later second than the one in which the last operation ended.
	Later     bool
	StartedAt time.Time
	Operated  State
	// Part says that the operation that is set is none of everything that git has: a dry run, a sync of single resources,
	// or of manifests that somebody has sent along. What the status has of an operation does not tell: up to Argo CD 3.2,
	// that keeps fields of the one before.
	Part bool
}

// Observe reads an Application from a watch event.
func Observe(app *argo.Application, deleted bool, at time.Time) (Observation, error) {
	version, err := strconv.ParseUint(app.ResourceVersion, 10, 64)
	if err != nil {
		return Observation{}, err
	}
	o := Observation{
		ResourceVersion: version, At: at, Name: app.Name, Gone: deleted || app.DeletionTimestamp != nil,
		OperationSet: app.Operation != nil, DryRun: app.Operation != nil && app.Operation.DryRun(),
		Part:   app.Operation != nil && part(app.Operation.Sync),
		Synced: app.Status.Sync.Status == argo.SyncStatusCodeSynced,
		Compared: state(app.Status.Sync.Revision, app.Status.Sync.Revisions, app.Status.Sync.ComparedTo.Source,
			app.Status.Sync.ComparedTo.Sources),
		Health: string(app.Status.Health.Status),
	}
	o.Leftover = !o.Synced && leftover(app.Status.Resources)
	o.Compared.Destination = app.Status.Sync.ComparedTo.Destination.Namespace
	if last := app.Status.OperationState; last != nil {
		o.Phase, o.StartedAt = string(last.Phase), last.StartedAt.Time
		if result := last.SyncResult; result != nil {
			o.Operated = state(result.Revision, result.Revisions, result.Source, result.Sources)
			o.Operated.Destination = app.Spec.Destination.Namespace
			o.Parked = o.TakenUp() && o.Operated.Revision == ""
		}
		o.Later = last.FinishedAt != nil && app.Status.ReconciledAt != nil &&
			app.Status.ReconciledAt.Unix() > last.FinishedAt.Unix()
	}
	return o, nil
}

// part says that a sync is none of everything that git has.
func part(sync *argo.SyncOperation) bool {
	return sync != nil && (sync.DryRun || len(sync.Resources) > 0 || len(sync.Manifests) > 0)
}

// leftover says that of the resources nothing is OutOfSync but what has to be pruned. Hooks are neither.
func leftover(resources []argo.ResourceStatus) bool {
	pruned := false
	for _, r := range resources {
		if r.Hook {
			continue
		}
		if r.Status != argo.SyncStatusCodeSynced && !r.RequiresPruning {
			return false
		}
		pruned = pruned || r.RequiresPruning
	}
	return pruned
}

// state joins what is deployed from one source or from several.
func state(revision string, revisions []string, source argo.ApplicationSource, sources argo.ApplicationSources) State {
	if len(sources) == 0 {
		return State{Revision: revision, Path: source.Path}
	}
	paths := make([]string, 0, len(sources))
	for _, s := range sources {
		paths = append(paths, s.Path)
	}
	return State{Revision: strings.Join(revisions, ","), Path: strings.Join(paths, ",")}
}

// TakenUp says that the operation that is set is the one that Phase and Operated tell of.
func (o Observation) TakenUp() bool {
	return o.OperationSet && (o.Phase == "Running" || o.Phase == "Terminating")
}

// found says that the Application was found Healthy with a state after the last operation, which has not failed with
// it: Synced or with nothing left but to prune, or else the operation deployed it, and something else is compared.
func (o Observation) found(s State) bool {
	failed := o.Operated == s && o.Phase != "Succeeded"
	synced := (o.Synced || o.Leftover) && o.Compared == s
	goneOn := o.Operated == s && o.Compared != s && o.Later
	return !o.OperationSet && !failed && (synced || goneOn) && o.Health == "Healthy"
}

// deploys says that an operation is waiting or running that deploys something.
func (o Observation) deploys() bool { return o.OperationSet && !o.DryRun }

// Finished says that no operation is waiting or running, and the last one succeeded.
func (o Observation) Finished() bool { return !o.OperationSet && o.Phase == "Succeeded" }
