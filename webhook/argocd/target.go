// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"slices"
	"strings"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// Target is the Application as it will be after the write, but with its status from before: a write cannot bring along
// the status that its operation is judged by. old is nil for a CREATE. app without an operation is no operation write.
func (t Tracking) Target(app, old *Application) policy.Target {
	target := readTarget(app, old)
	target.Managed = len(t.Owners(app, old)) > 0
	return target
}

// readTarget is a Target, but for whether it is Managed.
func readTarget(app, old *Application) policy.Target {
	t := policy.Target{
		Name: app.Metadata.Name, Labels: app.labels(),
		Deleting: app.Metadata.DeletionTimestamp != nil, Reported: old.reported(),
	}
	var before status
	var previous *Operation
	if old != nil {
		before, previous = old.Status, old.Operation
		t.OldLabels = old.labels()
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
	o := before.OperationState.operated()
	history := o.fullOnly(before.History)
	full := old.lastFull()
	if full != nil && full.Phase.Successful() {
		t.SyncStartedAt, t.SyncFinishedAt = full.StartedAt, full.FinishedAt
	}
	t.OutOfSyncSince = before.outOfSyncSince()
	t.Ran = ran(history)
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
	t.SameSources = d.sameSources(history)
	t.Operation.Pinned = d.pinned(t.Compared) && !op.Retry.Refresh && (d.overrides || !t.Operation.Automated)
	t.Operation.RollsBack = d.rollsBack(history) && !op.Retry.Refresh &&
		!d.equals(before.Sync.ComparedTo, before.Sync.Revision, before.Sync.Revisions)
	t.Operation.Foreign = d.foreign(spec)
	t.Operation.Redeploys = d.redeploys(history)
	stopped := full.stopped()
	if o != nil && o.phase == synccommon.OperationTerminating {
		stopped = o.stops() // a write may be judged by the state of a moment before the end
	}
	asked := app.deploys(app.Content())
	if asked.Revised == "" && asked != (Content{}) && t.SpecCompared {
		asked = asked.at(revisions(before.Sync.Revision, before.Sync.Revisions)) // it names none
	}
	t.Stopped = stopped != "" && stopped == asked.Revised
	return t
}

// Deployed is what the last full sync before a write deployed, as far as its stamp tells, and when the last operation
// started. spec is what the Application deploys by its spec after the write, and deploys what its operation deploys.
func Deployed(app, old *Application) (deployed, deploys, spec Content, operatedAt time.Time) {
	spec = app.Content()
	if deploys = spec; app.Operation != nil && isFull(app.Operation.Operation) {
		deploys = app.deploys(spec)
	}
	if old == nil {
		return deployed, deploys, spec, operatedAt
	}
	o := old.Status.OperationState.operated()
	if o != nil {
		operatedAt = o.startedAt
	}
	return old.lastFull().deployed(), deploys, spec, operatedAt
}

// Owners are the ApplicationSets that control an Application, before or after a write, each once. There are two when
// the write moves it from one to the other. Where nothing controls it, its parent by Argo CD's tracking stands there, by
// policy.NameOfParent; that may be no parent that gives an order. A nil Application has none.
func (t Tracking) Owners(apps ...*Application) []Owner {
	var found []Owner
	for _, app := range apps {
		if app == nil {
			continue
		}
		owner, has := t.parent(app)
		if o := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: app.Metadata.OwnerReferences}); o != nil {
			has = o.Kind == "ApplicationSet" && strings.HasPrefix(o.APIVersion, "argoproj.io/")
			owner = Owner{
				NamespacedName: types.NamespacedName{Namespace: app.Metadata.Namespace, Name: o.Name}, UID: o.UID,
			}
		}
		if has && !slices.Contains(found, owner) {
			found = append(found, owner)
		}
	}
	return found
}

// Owner is the ApplicationSet that controls an Application, or the order that its parent may give.
type Owner struct {
	types.NamespacedName
	UID types.UID
}

// Parent is the name of the parent whose order it is, if it is one.
func (o Owner) Parent() (application string, is bool) { return policy.ParentNamed(o.Name) }

// Parents are the parents that the tracking annotation of an Application names, which counts, and that its label names.
// Either is empty if there is none.
func (t Tracking) Parents(a *Application) (annotated, labelled types.NamespacedName) {
	m := &a.Metadata
	text := m.Annotations.Text(common.AnnotationKeyAppInstance)
	return t.parentOf("Application", m.Namespace, m.Name, nil, text),
		t.parentOf("Application", m.Namespace, m.Name, m.Labels, "")
}

// orderOf is the name of the order that a parent may give.
func orderOf(parent types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: parent.Namespace, Name: policy.NameOfParent(parent.Name)}
}

// parent is the order that the parent of an Application may give, if it has one.
func (t Tracking) parent(a *Application) (o Owner, has bool) {
	m := &a.Metadata
	p := t.parentOf("Application", m.Namespace, m.Name, m.Labels, m.Annotations.Text(common.AnnotationKeyAppInstance))
	return Owner{NamespacedName: orderOf(p), UID: UIDOfParent(p.Namespace, p.Name)}, p.Name != ""
}

// outOfSyncSince reports whether a comparison after the end of the last operation found it OutOfSync.
func (s *status) outOfSyncSince() bool {
	state := s.OperationState
	return s.Sync.Status == "OutOfSync" && state != nil && state.FinishedAt != nil &&
		timeOf(s.ReconciledAt).After(timeOf(state.FinishedAt))
}
