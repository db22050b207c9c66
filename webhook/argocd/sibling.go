package argocd

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
	"unique"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// Sibling keeps the part of a live Application that the rule needs.
func Sibling(app *argo.Application) policy.Application {
	_, refresh := app.IsRefreshRequested()
	status := &app.Status
	return policy.Application{
		Name:             app.Name,
		Labels:           sharedLabels(app.Labels),
		Deleting:         app.DeletionTimestamp != nil,
		Cluster:          shared(cluster(&app.Spec.Destination)),
		RefreshRequested: refresh,
		OperationSet:     app.Operation != nil,
		Health:           shared(string(status.Health.Status)),
		HealthSince:      timeOf(status.Health.LastTransitionTime),
		SyncStatus:       shared(string(status.Sync.Status)),
		SpecCompared:     specCompared(&app.Spec, status.Sync.ComparedTo) && hydratedFrom(&app.Spec, &status.SourceHydrator),
		ReconciledAt:     timeOf(status.ReconciledAt),
		Compared:         compared(&app.Spec, &status.Sync, &status.SourceHydrator),
		LastOperation:    lastOperation(status),
		LastSync:         lastSync(status),
		Ran:              ran(status.History),
		Hydration:        hydration(&app.Spec, &status.Sync, status.ReconciledAt, &status.SourceHydrator),
		Moved:            moved(status.Resources),
		OnlyPruning:      onlyPruning(status.Resources),
	}
}

// compared are the sources and revisions of a comparison. A hydrated Application also has its dry source: the revision
// that the hydrator has looked at last, or, while it hydrates that, the one that the compared revision was made of.
func compared(spec *argo.ApplicationSpec, sync *argo.SyncStatus, hydrator *argo.SourceHydratorStatus) []policy.Source {
	all := Sources(oneOrMany(sync.ComparedTo.Source, sync.ComparedTo.Sources), revisions(sync.Revision, sync.Revisions))
	if spec.SourceHydrator == nil {
		return all
	}
	dry, op, made := hydrator.LastComparedDryRevision, hydrator.CurrentOperation, hydrator.LastSuccessfulOperation
	switch {
	case op == nil:
	case op.Phase != argo.HydrateOperationPhaseHydrated && made != nil && made.HydratedSHA == sync.Revision:
		dry = made.DrySHA
	case dry == "":
		dry = op.DrySHA // argo-cd before v3.3
	}
	return append(all, policy.Source{Key: shared(dryKey(spec.SourceHydrator)), Revision: shared(dry)})
}

// hydration is the phase of the source hydrator's operation; empty without a hydrator. It is policy.Uncompared where
// the operation ended with another revision than the compared one, and not before the last comparison, and
// policy.Outdated where it was of another dry source than the spec has.
func hydration(
	spec *argo.ApplicationSpec, sync *argo.SyncStatus, reconciledAt *metav1.Time, hydrator *argo.SourceHydratorStatus,
) string {
	op := hydrator.CurrentOperation
	if spec.SourceHydrator == nil || op == nil {
		return ""
	}
	if !spec.SourceHydrator.DeepEquals(op.SourceHydrator) {
		return policy.Outdated
	}
	if op.Phase == argo.HydrateOperationPhaseHydrated && op.FinishedAt != nil && op.HydratedSHA != sync.Revision &&
		!timeOf(reconciledAt).After(op.FinishedAt.Time) {
		return policy.Uncompared
	}
	return shared(string(op.Phase))
}

// inCluster is the name of the cluster in which Argo CD runs.
const inCluster = "in-cluster"

// cluster is the cluster of a destination as people know it; empty for the one in which Argo CD runs.
func cluster(d *argo.ApplicationDestination) string {
	if d.Name == inCluster || d.Name == "" && d.Server == argo.KubernetesInternalAPIServerAddr {
		return ""
	}
	return cmp.Or(d.Name, strings.TrimPrefix(d.Server, "https://"))
}

// specCompared reports whether a comparison was made with this spec. It mirrors needRefreshAppStatus of argo-cd v3.5.7,
// controller/appcontroller.go, which makes Argo CD itself compare again.
func specCompared(spec *argo.ApplicationSpec, compared argo.ComparedTo) bool {
	if !reflect.DeepEqual(spec.Destination, compared.Destination) ||
		!spec.IgnoreDifferences.Equals(compared.IgnoreDifferences) {
		return false
	}
	if spec.HasMultipleSources() {
		return spec.Sources.Equals(compared.Sources)
	}
	source := spec.GetSource()
	return source.Equals(&compared.Source)
}

// hydratedFrom reports whether what is hydrated was made of the dry source that the spec has now. Where that is not
// known, as with an Application that was never hydrated, it does.
func hydratedFrom(spec *argo.ApplicationSpec, hydrator *argo.SourceHydratorStatus) bool {
	made := hydrator.LastSuccessfulOperation
	return spec.SourceHydrator == nil || made == nil || made.SourceHydrator == (argo.SourceHydrator{}) ||
		spec.SourceHydrator.DeepEquals(made.SourceHydrator)
}

func lastOperation(status *argo.ApplicationStatus) policy.LastOperation {
	state := status.OperationState
	if state == nil {
		return policy.LastOperation{}
	}
	last := policy.LastOperation{
		Phase: shared(string(state.Phase)), Full: isFull(state.Operation), Retried: state.RetryCount > 0,
		StartedAt: state.StartedAt.Time, FinishedAt: timeOf(state.FinishedAt),
	}
	if result := state.SyncResult; result != nil {
		last.AtCompared = sameRevisions(revisions(result.Revision, result.Revisions), status.GetRevisions())
		compared := status.Sync.ComparedTo
		last.SameSources = oneOrMany(result.Source, result.Sources).Equals(oneOrMany(compared.Source, compared.Sources))
		if !last.AtCompared && state.Phase.Completed() && !state.Phase.Successful() {
			last.Other = Sources(oneOrMany(result.Source, result.Sources), revisions(result.Revision, result.Revisions))
		}
		last.Applied = slices.ContainsFunc(result.Resources, func(r *argo.ResourceResult) bool {
			return r != nil && r.SyncPhase == synccommon.SyncPhasePostSync
		})
	}
	return last
}

// lastSync is the last operation if it was a successful full sync, else the newest entry of the history: argo-cd v3.5.7
// records exactly the successful full syncs there (controller/sync.go).
func lastSync(status *argo.ApplicationStatus) policy.LastSync {
	if s := status.OperationState; s != nil && s.SyncResult != nil && s.Phase.Successful() && isFull(s.Operation) {
		r := s.SyncResult
		return syncOf(status, timeOf(s.FinishedAt), oneOrMany(r.Source, r.Sources), revisions(r.Revision, r.Revisions),
			s.Operation.InitiatedBy)
	}
	if len(status.History) == 0 {
		return policy.LastSync{}
	}
	h := status.History.LastRevisionHistory()
	return syncOf(status, h.DeployedAt.Time, oneOrMany(h.Source, h.Sources), revisions(h.Revision, h.Revisions),
		h.InitiatedBy)
}

// person is who started an operation; empty if Argo CD did.
func person(by argo.OperationInitiator) string {
	if by.Automated {
		return ""
	}
	return shared(by.Username)
}

// syncOf holds a sync against the present comparison.
func syncOf(
	status *argo.ApplicationStatus, finishedAt time.Time, sources argo.ApplicationSources, revs []string,
	by argo.OperationInitiator,
) policy.LastSync {
	compared := status.Sync.ComparedTo
	same := len(sources) > 0 && sources.Equals(oneOrMany(compared.Source, compared.Sources))
	last := policy.LastSync{
		FinishedAt: finishedAt, SameSources: same, AtCompared: same && sameRevisions(revs, status.GetRevisions()),
		Since: since(status.History, finishedAt, sources, revs),
		By:    cmp.Or(person(by), startedBy(status.History, sources, revs)),
	}
	if same && !last.AtCompared && len(revs) > 0 {
		last.Other = Sources(sources, revs)
	}
	return last
}

// startedBy is the last person who has started a sync of these sources at these revisions, with nothing else deployed
// since. Argo CD's own repetitions of a sync change nothing about that.
func startedBy(history argo.RevisionHistories, sources argo.ApplicationSources, revs []string) string {
	for _, h := range slices.Backward(history) {
		if !sources.Equals(oneOrMany(h.Source, h.Sources)) || !sameRevisions(revs, revisions(h.Revision, h.Revisions)) {
			break
		}
		if who := person(h.InitiatedBy); who != "" {
			return who
		}
	}
	return ""
}

// since is when these sources were first deployed at these revisions, with nothing else in between: at the end of a
// history stand the sync that finished last, and before it those that deployed the same. Argo CD may not have written
// the last one yet.
func since(
	history argo.RevisionHistories, finishedAt time.Time, sources argo.ApplicationSources, revs []string,
) time.Time {
	first := len(history)
	for i, h := range slices.Backward(history) {
		if !sources.Equals(oneOrMany(h.Source, h.Sources)) || !sameRevisions(revs, revisions(h.Revision, h.Revisions)) {
			break
		}
		first = i
	}
	if first+1 < len(history) && history[first].DeployedAt.Time.Before(finishedAt) {
		return history[first].DeployedAt.Time
	}
	return finishedAt
}

// isFull reports whether an operation syncs the whole Application for real.
func isFull(op argo.Operation) bool {
	return op.Sync != nil && !op.Sync.DryRun && len(op.Sync.Resources) == 0
}

func sameRevisions(a, b []string) bool {
	return len(a) > 0 && slices.Equal(a, b)
}

// ran lists the sources and revisions of a history, oldest first. A source that stays at its revision is listed once.
// The list is kept for every Application, so that it is no longer than its entries.
func ran(history argo.RevisionHistories) []policy.Source {
	var all []policy.Source
	newest := map[string]string{}
	for _, h := range history {
		for _, s := range Sources(oneOrMany(h.Source, h.Sources), revisions(h.Revision, h.Revisions)) {
			if s.Revision != "" && newest[s.Key] != s.Revision {
				newest[s.Key] = s.Revision
				all = append(all, s)
			}
		}
	}
	return slices.Clone(all)
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// shared is one copy of a text for all that hold it. Thousands of siblings hold the same few texts. One copy takes less
// memory, and comparing it needs no fetch from memory, which is most of a decision's cost.
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

func sharedTexts(texts []string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, shared(text))
	}
	return all
}
