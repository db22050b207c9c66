package observer

import (
	"strconv"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// State is the source that an Application deploys: a path of its repository at a commit.
type State struct {
	Revision, Path string
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
	// OperationSet says that an operation was waiting or running.
	OperationSet bool
	// Synced says that the last comparison found nothing to do; Compared is the state it compared with.
	Synced   bool
	Compared State
	Health   string
	// Phase is the phase of the last operation that the controller took up, and Operated the state that it deployed, if known.
	Phase     string
	StartedAt time.Time
	Operated  State
}

// Observe reads an Application from a watch event.
func Observe(app *argo.Application, deleted bool, at time.Time) (Observation, error) {
	version, err := strconv.ParseUint(app.ResourceVersion, 10, 64)
	if err != nil {
		return Observation{}, err
	}
	o := Observation{
		ResourceVersion: version, At: at, Name: app.Name, Gone: deleted || app.DeletionTimestamp != nil,
		OperationSet: app.Operation != nil,
		Synced:       app.Status.Sync.Status == argo.SyncStatusCodeSynced,
		Compared:     State{Revision: app.Status.Sync.Revision, Path: app.Status.Sync.ComparedTo.Source.Path},
		Health:       string(app.Status.Health.Status),
	}
	if state := app.Status.OperationState; state != nil {
		o.Phase, o.StartedAt = string(state.Phase), state.StartedAt.Time
		if state.SyncResult != nil {
			o.Operated = State{Revision: state.SyncResult.Revision, Path: state.SyncResult.Source.Path}
		}
	}
	return o, nil
}

// Finished says that no operation is waiting or running, and the last one succeeded.
func (o Observation) Finished() bool { return !o.OperationSet && o.Phase == "Succeeded" }
