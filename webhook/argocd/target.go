package argocd

import (
	"cmp"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// Target is the Application as it will be after the write, but with its status from before: a write cannot bring along
// the status that its operation is judged by. old is nil for a CREATE. app without an operation is no operation write.
func Target(app, old *Application) policy.Target {
	t := policy.Target{
		Name:     app.Metadata.Name,
		Labels:   app.Metadata.Labels,
		Deleting: app.Metadata.DeletionTimestamp != nil,
		Managed:  len(Owners(app, old)) > 0,
	}
	var before status
	var previous *Operation
	if old != nil {
		before, previous = old.Status, old.Operation
		t.OldLabels = old.Metadata.Labels
		if t.OldLabels == nil {
			t.OldLabels = map[string]string{}
		}
	}
	spec := app.spec()
	t.SpecCompared = specCompared(spec, before.Sync.ComparedTo)
	t.ReconciledAt = timeOf(before.ReconciledAt)
	t.Compared = compared(&before.Sync)
	t.SyncStartedAt = before.syncStartedAt()
	t.Ran = ran(before.History)
	if app.Operation == nil {
		return t
	}
	op := &app.Operation.Operation
	t.Operation = policy.Operation{
		Written:   !app.Operation.equals(previous),
		DryRun:    op.DryRun(),
		Automated: op.InitiatedBy.Automated,
		Pinned:    op.Sync != nil && len(explicitRevisions(op.Sync)) > 0,
		RollsBack: rollsBack(op.Sync, before.History),
	}
	t.Wanted = wanted(op.Sync, spec.GetSources(), t.Compared)
	return t
}

// Owners are the ApplicationSets that control an Application, before or after a write, each once. There are two when the
// write moves it from one to the other. A nil Application has none.
func Owners(apps ...*Application) []metav1.OwnerReference {
	var found []metav1.OwnerReference
	for _, app := range apps {
		if app == nil {
			continue
		}
		owner := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: app.Metadata.OwnerReferences})
		if owner == nil || owner.Kind != "ApplicationSet" || !strings.HasPrefix(owner.APIVersion, "argoproj.io/") {
			continue
		}
		same := func(o metav1.OwnerReference) bool { return o.UID == owner.UID && o.Name == owner.Name }
		if !slices.ContainsFunc(found, same) {
			found = append(found, *owner)
		}
	}
	return found
}

// syncStartedAt is when the last operation started, if it was a full sync that succeeded; else zero.
func (s *status) syncStartedAt() time.Time {
	state := s.OperationState
	if state == nil || state.Phase != "Succeeded" || !isFull(state.Operation) {
		return time.Time{}
	}
	return state.StartedAt.Time
}

// wanted are the sources and revisions that an operation will deploy: its explicit ones where it has them, else those
// that the Application was last compared with. A source is left out where neither tells. Local manifests are no revision
// of anything: they are judged as if the Application were synced to the compared revision.
func wanted(sync *argo.SyncOperation, sources argo.ApplicationSources, compared []policy.Source) []policy.Source {
	var explicit []string
	if sync != nil {
		if override := overrides(sync); len(override) > 0 {
			sources = override
		}
		if len(sync.Manifests) == 0 {
			explicit = explicitRevisions(sync)
		}
	}
	var all []policy.Source
	for i, w := range Sources(sources, explicit) {
		// A revision that only repeats the targetRevision, as kubectl users write it, is not resolved yet.
		if w.Revision != "" && w.Revision != cmp.Or(sources[i].TargetRevision, "HEAD") {
			all = append(all, w)
			continue
		}
		for _, c := range compared {
			if c.Key == w.Key {
				all = append(all, c)
			}
		}
	}
	return all
}

// rollsBack reports whether an operation's explicit revisions and sources equal an older entry of the history.
func rollsBack(sync *argo.SyncOperation, history argo.RevisionHistories) bool {
	if sync == nil || len(history) == 0 || len(sync.Manifests) > 0 {
		return false
	}
	revisions, sources := explicitRevisions(sync), overrides(sync)
	if len(revisions) == 0 || len(sources) == 0 {
		return false
	}
	return slices.ContainsFunc(history[:len(history)-1], func(h argo.RevisionHistory) bool {
		if len(h.Sources) > 0 {
			return slices.Equal(revisions, h.Revisions) && sources.Equals(h.Sources)
		}
		return slices.Equal(revisions, []string{h.Revision}) && sources.Equals(argo.ApplicationSources{h.Source})
	})
}

// overrides are the sources that an operation brings along instead of those of the spec.
func overrides(sync *argo.SyncOperation) argo.ApplicationSources {
	if len(sync.Sources) == 0 && sync.Source != nil {
		return argo.ApplicationSources{*sync.Source}
	}
	return sync.Sources
}

func explicitRevisions(sync *argo.SyncOperation) []string {
	return revisions(sync.Revision, sync.Revisions)
}
