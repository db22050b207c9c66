// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"regexp"
	"slices"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// application is the part of an Application that an audit needs.
type application struct {
	name    string
	step    int // 0-based; -1 where no step selects it
	created time.Time
	// syncs are those on record, the oldest first. The last one may still run, or have failed.
	syncs []deployment
	// trimmed says that there have been older ones.
	trimmed bool
	// sources come from its spec and from the syncs, by source key.
	sources map[string]argo.ApplicationSource
}

// deployment is a full sync of an Application.
type deployment struct {
	// sources are keys and revisions, and spec differs between two syncs if anything else of their sources does.
	sources []policy.Source
	spec    uint64
	// started is when the operation was first taken up. finished is zero while it runs.
	started, finished time.Time
	// by is the user that Argo CD records. Argo CD's own controllers are automated.
	by        string
	automated bool
	outcome   Outcome
}

// recordOf keeps the part of an Application that an audit needs. Its present labels, or its sync wave, tell the step.
func recordOf(app *argo.Application, rule *policy.ApplicationSet) *application {
	a := &application{
		name: app.Name, step: rule.StepOf(argocd.Labels(app.Labels, app.Annotations)),
		created: app.CreationTimestamp.UTC(), sources: map[string]argo.ApplicationSource{},
	}
	a.keep(app.Spec.GetSources())
	history := slices.Clone(app.Status.History)
	slices.SortStableFunc(history, func(a, b argo.RevisionHistory) int { return cmp.Compare(a.ID, b.ID) })
	for i := range history {
		a.syncs = append(a.syncs, succeeded(&history[i]))
		a.keep(oneOrMany(history[i].Source, history[i].Sources))
	}
	// The first sync has ID 0: persistRevisionHistory of argo-cd v3.5.7, controller/state.go. It starts again at 0
	// where revisionHistoryLimit 0 has emptied the list.
	a.trimmed = len(history) > 0 && history[0].ID > 0 || app.Spec.GetRevisionHistoryLimit() == 0
	if last, ok := lastOperation(app.Status.OperationState); ok && !a.has(last.started) {
		a.syncs = append(a.syncs, last)
		a.keep(oneOrMany(app.Status.OperationState.SyncResult.Source, app.Status.OperationState.SyncResult.Sources))
	}
	return a
}

// keep keeps sources, each key once.
func (a *application) keep(sources argo.ApplicationSources) {
	for _, s := range sources {
		if key := argocd.Sources(argo.ApplicationSources{s}, nil)[0].Key; a.sources[key].RepoURL == "" {
			a.sources[key] = argo.ApplicationSource{RepoURL: s.RepoURL, Chart: s.Chart, TargetRevision: s.TargetRevision}
		}
	}
}

// has says that a sync that started then is on record.
func (a *application) has(started time.Time) bool {
	return slices.ContainsFunc(a.syncs, func(d deployment) bool { return d.started.Equal(started) })
}

func succeeded(h *argo.RevisionHistory) deployment {
	d := deployment{started: h.DeployedAt.UTC(), finished: h.DeployedAt.UTC(), outcome: Succeeded}
	if h.DeployStartedAt != nil {
		d.started = h.DeployStartedAt.UTC()
	}
	d.deploys(h.Source, h.Sources, h.Revision, h.Revisions)
	d.initiated(h.InitiatedBy)
	return d
}

// lastOperation is the last operation, if it was a full sync to a known revision. History has it if it succeeded,
// unless the Application keeps no history.
func lastOperation(state *argo.OperationState) (d deployment, ok bool) {
	if state == nil || state.SyncResult == nil || state.Operation.Sync == nil {
		return d, false
	}
	sync, result := state.Operation.Sync, state.SyncResult
	if sync.DryRun || len(sync.Resources) > 0 || len(sync.Manifests) > 0 {
		return d, false
	}
	d.started = state.StartedAt.UTC()
	switch state.Phase {
	case synccommon.OperationRunning, synccommon.OperationTerminating:
		d.outcome = Running
	case synccommon.OperationSucceeded:
		d.outcome = Succeeded
	default:
		d.outcome = Failed
	}
	if d.outcome != Running {
		if state.FinishedAt == nil {
			return d, false
		}
		d.finished = state.FinishedAt.UTC()
	}
	d.deploys(result.Source, result.Sources, result.Revision, result.Revisions)
	d.sources = slices.DeleteFunc(d.sources, func(s policy.Source) bool { return s.Revision == "" })
	d.initiated(state.Operation.InitiatedBy)
	return d, len(d.sources) > 0
}

func (d *deployment) deploys(
	one argo.ApplicationSource, many argo.ApplicationSources, revision string, revisions []string,
) {
	if len(many) == 0 {
		revisions = []string{revision}
	}
	many = oneOrMany(one, many)
	d.sources = argocd.Sources(many, revisions)
	for i, s := range many {
		if !resolved(s, d.sources[i].Revision) {
			d.sources[i].Revision = ""
		}
	}
	d.spec = fingerprint(many)
}

// oneOrMany brings Argo CD's two spellings, one source or many, to a list of sources.
func oneOrMany(one argo.ApplicationSource, many argo.ApplicationSources) argo.ApplicationSources {
	if len(many) > 0 {
		return many
	}
	return argo.ApplicationSources{one}
}

func (d *deployment) initiated(by argo.OperationInitiator) {
	d.by, d.automated = by.Username, by.Automated
}

var exact = regexp.MustCompile(
	`^([0-9a-f]{40}|[0-9a-f]{64}|v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]*)?|sha256:[0-9a-f]{64})$`,
)

// resolved says that a revision is a commit or a version. An operation that has not resolved its branch yet has the
// branch in its result: newSyncOperationResult of argo-cd v3.5.7, controller/sync.go.
func resolved(s argo.ApplicationSource, revision string) bool {
	return revision != cmp.Or(s.TargetRevision, "HEAD") || exact.MatchString(revision)
}

// revision returns what the sync deployed of a source key; empty if the sync had no such source.
func (d *deployment) revision(key string) string {
	for _, s := range d.sources {
		if s.Key == key {
			return s.Revision
		}
	}
	return ""
}

// onlyChanges says that nothing but the revision of a source key is different from the sync before.
func (d *deployment) onlyChanges(key string, before deployment) bool {
	if d.spec != before.spec {
		return false
	}
	for _, s := range d.sources {
		if s.Key != key && s.Revision != before.revision(s.Key) {
			return false
		}
	}
	return true
}

// fingerprint tells sources apart in all their fields.
func fingerprint(sources argo.ApplicationSources) uint64 {
	hash := fnv.New64a()
	_ = json.NewEncoder(hash).Encode(sources) // sources always encode, and a hash takes all writes
	return hash.Sum64()
}
