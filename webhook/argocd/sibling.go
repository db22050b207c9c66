// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
	"unique"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// Sibling keeps the part of a live Application that the rule needs.
func Sibling(app *argo.Application) policy.Application {
	app = asCompared(app)
	_, refresh := app.IsRefreshRequested()
	status := &app.Status
	o := operatedOf(status.OperationState)
	full := o.lastFull(&app.Spec, app.Operation)
	a := policy.Application{
		Name:             app.Name,
		Labels:           Labels(sharedLabels(app.Labels), app.Annotations),
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
		LastOperation:    lastOperation(o),
		LastFull:         lastFull(status, full),
		LastSync:         lastSync(status, o, full),
		Ran:              ran(o.fullOnly(status.History)),
		Hydration:        siblingHydration(app),
		OnlyPruning:      onlyPruning(status.Resources),
	}
	if skipped(app) {
		report(&a, app)
	}
	return a
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

// siblingHydration is the hydration of a live Application. It is policy.Outdated, too, while a newer dry commit waits to
// be hydrated: since v3.5 argo-cd writes lastComparedDryRevision before that (ProcessAppHydrateQueueItem in
// controller/hydrator/hydrator.go). With manifest-generate-paths it does so as well for a commit that it then skips, and
// nothing tells the two apart (argo-cd 29816).
func siblingHydration(app *argo.Application) string {
	hydrator := &app.Status.SourceHydrator
	op, looked := hydrator.CurrentOperation, hydrator.LastComparedDryRevision
	if app.Spec.SourceHydrator != nil && op != nil && op.Phase == argo.HydrateOperationPhaseHydrated && looked != "" &&
		op.DrySHA != looked && app.Annotations[argo.AnnotationKeyManifestGeneratePaths] == "" {
		return policy.Outdated
	}
	return hydration(&app.Spec, &app.Status.Sync, app.Status.ReconciledAt, hydrator)
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

func lastOperation(o *operated) policy.LastOperation {
	if o == nil {
		return policy.LastOperation{}
	}
	return policy.LastOperation{
		Phase: shared(string(o.phase)), Retried: o.retried, StartedAt: o.startedAt, FinishedAt: o.finishedAt,
	}
}

// lastFull holds the last full sync against the present comparison.
func lastFull(status *argo.ApplicationStatus, full *Outcome) policy.FullSync {
	if full == nil {
		return policy.FullSync{}
	}
	last := policy.FullSync{
		Phase: shared(string(full.Phase)), StartedAt: full.StartedAt, FinishedAt: full.FinishedAt,
		AtCompared: sameRevisions(full.Revisions, status.GetRevisions()), SameSources: sameAsCompared(status, full.sources),
		Applied: full.Applied, Patched: full.Patched,
	}
	if full.failed() && !last.AtCompared {
		last.Other = Sources(full.sources, full.Revisions)
	}
	return last
}

// sameAsCompared reports whether these are the sources of the last comparison.
func sameAsCompared(status *argo.ApplicationStatus, sources argo.ApplicationSources) bool {
	compared := status.Sync.ComparedTo
	return sources.Equals(oneOrMany(compared.Source, compared.Sources))
}

// lastSync is the last full sync if that has succeeded, else the newest entry of the history: argo-cd v3.5.7 records
// exactly the successful full syncs there, and those with manifests of their own (controller/sync.go).
func lastSync(status *argo.ApplicationStatus, o *operated, full *Outcome) policy.LastSync {
	if full != nil && full.Phase.Successful() && len(full.sources)+len(full.Revisions) > 0 {
		return syncOf(status, full.FinishedAt, full.sources, full.Revisions, full.By)
	}
	history := o.fullOnly(status.History)
	if len(history) == 0 {
		return policy.LastSync{}
	}
	h := history.LastRevisionHistory()
	return syncOf(status, h.DeployedAt.Time, oneOrMany(h.Source, h.Sources), revisions(h.Revision, h.Revisions),
		person(h.InitiatedBy))
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
	by string,
) policy.LastSync {
	compared := status.Sync.ComparedTo
	same := len(sources) > 0 && sources.Equals(oneOrMany(compared.Source, compared.Sources))
	last := policy.LastSync{
		FinishedAt: finishedAt, SameSources: same, AtCompared: same && sameRevisions(revs, status.GetRevisions()),
		Since: since(status.History, finishedAt, sources, revs),
		By:    cmp.Or(by, startedBy(status.History, sources, revs)),
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

// onlyPruning reports whether resources are OutOfSync, and all of these have to be pruned.
func onlyPruning(resources []argo.ResourceStatus) bool {
	some := false
	for i := range resources {
		if r := &resources[i]; r.Status == argo.SyncStatusCodeOutOfSync {
			if some = true; !r.RequiresPruning {
				return false
			}
		}
	}
	return some
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
