package argocd

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// Target is the Application as it will be after the write, but with its status from before: a write cannot bring along
// the status that its operation is judged by. old is nil for a CREATE. app without an operation is no operation write.
func Target(app, old *Application) policy.Target {
	t := policy.Target{
		Name:    app.Metadata.Name,
		Labels:  app.Metadata.Labels,
		Managed: len(Owners(app, old)) > 0,

		Deleting: app.Metadata.DeletionTimestamp != nil,
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
	t.SpecCompared = isCompared(&before.Sync) && specCompared(spec, before.Sync.ComparedTo) &&
		hydratedFrom(spec, &before.SourceHydrator)
	t.ReconciledAt = timeOf(before.ReconciledAt)
	t.Compared = compared(spec, &before.Sync, &before.SourceHydrator)
	t.Hydration = hydration(spec, &before.Sync, before.ReconciledAt, &before.SourceHydrator)
	t.SyncStartedAt, t.SyncFinishedAt = before.syncedAt()
	t.OutOfSyncSince = before.outOfSyncSince()
	t.Ran = ran(before.History)
	if app.Operation == nil {
		return t
	}
	op := &app.Operation.Operation
	t.Operation = policy.Operation{
		Written:   !app.Operation.equals(previous),
		DryRun:    op.DryRun(),
		Automated: op.InitiatedBy.Automated,
	}
	if op.Sync == nil {
		t.Wanted = t.Compared
		return t
	}
	d := deploymentOf(op.Sync, spec)
	t.Wanted = d.wanted(t.Compared)
	t.SameSources = d.sameSources(before.History)
	t.Operation.Pinned = d.pinned(t.Compared) && !op.Retry.Refresh && (d.overrides || !t.Operation.Automated)
	t.Operation.RollsBack = d.rollsBack(before.History) && !op.Retry.Refresh &&
		!d.equals(before.Sync.ComparedTo, before.Sync.Revision, before.Sync.Revisions)
	t.Operation.Foreign = d.foreign(spec)
	t.Operation.Redeploys = d.redeploys(before.History)
	return t
}

// DeploysCompared reports whether the operation of a write names the revisions and the sources that the Application was
// compared with before the write, what that comparison was, and when the last operation before the write started.
func DeploysCompared(app, old *Application) (compared Fingerprint, operatedAt time.Time, ok bool) {
	if app == nil || old == nil || app.Operation == nil || app.Operation.Sync == nil {
		return 0, operatedAt, false
	}
	if state := old.Status.OperationState; state != nil {
		operatedAt = state.StartedAt.Time
	}
	d, sync := deploymentOf(app.Operation.Sync, app.spec()), &old.Status.Sync
	return NewFingerprint(sync), operatedAt, d.equals(sync.ComparedTo, sync.Revision, sync.Revisions)
}

// Owners are the ApplicationSets that control an Application, before or after a write, each once. There are two when
// the write moves it from one to the other. A nil Application has none.
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

// outOfSyncSince reports whether a comparison after the end of the last operation found it OutOfSync.
func (s *status) outOfSyncSince() bool {
	state := s.OperationState
	return s.Sync.Status == "OutOfSync" && state != nil && state.FinishedAt != nil &&
		timeOf(s.ReconciledAt).After(timeOf(state.FinishedAt))
}

// syncedAt is when the last operation started and ended, if it was a full sync that succeeded; else zero.
func (s *status) syncedAt() (started, finished time.Time) {
	state := s.OperationState
	if state == nil || state.Phase != "Succeeded" || !isFull(state.Operation) {
		return started, finished
	}
	return state.StartedAt.Time, timeOf(state.FinishedAt)
}
