package siblings

import (
	"reflect"
	"slices"
	"strconv"
	"time"
	"unique"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// Project keeps of an Application what the rule needs.
func Project(app *argo.Application) policy.Application {
	_, refresh := app.IsRefreshRequested()
	status := &app.Status
	compared := oneOrMany(status.Sync.ComparedTo.Source, status.Sync.ComparedTo.Sources)
	return policy.Application{
		Name:             app.Name,
		Labels:           sharedLabels(app.Labels),
		Deleting:         app.DeletionTimestamp != nil,
		RefreshRequested: refresh,
		OperationSet:     app.Operation != nil,
		Health:           shared(string(status.Health.Status)),
		SyncStatus:       shared(string(status.Sync.Status)),
		SpecCompared:     specCompared(app),
		ReconciledAt:     timeOf(status.ReconciledAt),
		Compared:         Sources(compared, status.GetRevisions()),
		LastOperation:    lastOperation(status),
		LastSync:         lastSync(status),
		Ran:              ran(status.History),
	}
}

// specCompared mirrors needRefreshAppStatus of argo-cd v3.5.7, controller/appcontroller.go: what makes Argo CD itself
// compare again.
func specCompared(app *argo.Application) bool {
	compared := app.Status.Sync.ComparedTo
	if !reflect.DeepEqual(app.Spec.Destination, compared.Destination) {
		return false
	}
	if app.Spec.HasMultipleSources() {
		return app.Spec.Sources.Equals(compared.Sources)
	}
	source := app.Spec.GetSource()
	return source.Equals(&compared.Source)
}

func lastOperation(status *argo.ApplicationStatus) policy.LastOperation {
	state := status.OperationState
	if state == nil {
		return policy.LastOperation{}
	}
	last := policy.LastOperation{Phase: shared(string(state.Phase)), Full: isFull(state.Operation), StartedAt: state.StartedAt.Time, FinishedAt: timeOf(state.FinishedAt)}
	if result := state.SyncResult; result != nil {
		last.AtCompared = sameRevisions(revisions(result.Revision, result.Revisions), status.GetRevisions())
	}
	return last
}

// lastSync is the last operation if it was a successful full sync, else the newest entry of the history: argo-cd
// v3.5.7 records there exactly the successful full syncs (controller/sync.go).
func lastSync(status *argo.ApplicationStatus) policy.LastSync {
	compared := status.Sync.ComparedTo
	atCompared := func(sources argo.ApplicationSources, revs []string) bool {
		return sameRevisions(revs, status.GetRevisions()) && sources.Equals(oneOrMany(compared.Source, compared.Sources))
	}
	if s := status.OperationState; s != nil && s.SyncResult != nil && s.Phase.Successful() && isFull(s.Operation) {
		return policy.LastSync{
			FinishedAt: timeOf(s.FinishedAt),
			AtCompared: atCompared(oneOrMany(s.SyncResult.Source, s.SyncResult.Sources), revisions(s.SyncResult.Revision, s.SyncResult.Revisions)),
		}
	}
	if len(status.History) == 0 {
		return policy.LastSync{}
	}
	h := status.History.LastRevisionHistory()
	return policy.LastSync{
		FinishedAt: h.DeployedAt.Time,
		AtCompared: atCompared(oneOrMany(h.Source, h.Sources), revisions(h.Revision, h.Revisions)),
	}
}

// isFull reports whether an operation syncs the whole Application for real.
func isFull(op argo.Operation) bool {
	return op.Sync != nil && !op.Sync.DryRun && len(op.Sync.Resources) == 0
}

func sameRevisions(a, b []string) bool {
	return len(a) > 0 && slices.Equal(a, b)
}

// ran lists the distinct sources and revisions of a history.
func ran(history argo.RevisionHistories) []policy.Source {
	var all []policy.Source
	for _, h := range history {
		for _, s := range Sources(oneOrMany(h.Source, h.Sources), revisions(h.Revision, h.Revisions)) {
			if s.Revision != "" && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// ProjectSet keeps of an ApplicationSet what the rule needs.
func ProjectSet(set *argo.ApplicationSet) policy.ApplicationSet {
	projected := policy.ApplicationSet{
		Namespace: set.Namespace, Name: set.Name, UID: string(set.UID),
		Deleting: set.DeletionTimestamp != nil,
	}
	// IsRollingSyncStrategy of argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go.
	if strategy := set.Spec.Strategy; strategy != nil && strategy.Type == "RollingSync" && strategy.RollingSync != nil {
		projected.RollingSync = true
		projected.Steps = steps(strategy.RollingSync.Steps)
	}
	projected.Recorded = recorded(set.Status.ApplicationStatus)
	return projected
}

// recorded keeps of a name that is listed twice the first entry: Argo CD looks at that one, too.
func recorded(statuses []argo.ApplicationSetApplicationStatus) map[string]policy.Recorded {
	all := make(map[string]policy.Recorded, len(statuses))
	for _, status := range statuses {
		if _, listed := all[status.Application]; listed {
			continue
		}
		step, err := strconv.Atoi(status.Step)
		if err != nil {
			step = 0
		}
		all[status.Application] = policy.Recorded{
			Step: step, TransitionedAt: timeOf(status.LastTransitionTime),
			Started: status.Status == argo.ProgressiveSyncProgressing || status.Status == argo.ProgressiveSyncHealthy,
		}
	}
	return all
}

func steps(rollout []argo.ApplicationSetRolloutStep) []policy.Step {
	projected := make([]policy.Step, 0, len(rollout))
	for _, r := range rollout {
		step := policy.Step{}
		for _, e := range r.MatchExpressions {
			expression := policy.Expression{Key: shared(e.Key), Operator: e.Operator}
			for _, value := range e.Values {
				expression.Values = append(expression.Values, shared(value))
			}
			step = append(step, expression)
		}
		projected = append(projected, step)
	}
	return projected
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// shared is one copy of a text for all that hold it. Thousands of siblings hold the same few texts: they take less
// memory so, and are compared without being fetched from it, which is most of what a decision costs.
func shared(s string) string { return unique.Make(s).Value() }

func sharedLabels(labels map[string]string) map[string]string {
	if labels == nil {
		return nil
	}
	all := make(map[string]string, len(labels))
	for key, value := range labels {
		all[shared(key)] = shared(value)
	}
	return all
}
