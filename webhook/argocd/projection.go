// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// Projection is the part of an Application that stepgate keeps: the rule's part, and its version and owner. Only
// name, namespace, UID and resourceVersion of the embedded metadata are set, for the informer's store.
type Projection struct {
	metav1.ObjectMeta
	// Owner and Set are the UID and the name of the ApplicationSet that controls it. Where nothing controls it, they are
	// those of the order that its parent may give (policy.NameOfParent); empty if it has no parent in its namespace.
	Owner types.UID
	Set   string
	// elsewhere is it as a member of the order of a parent in another namespace, whose namespace and policy.MemberName
	// stand for its own; nil if it has no such parent.
	elsewhere *Projection
	// Lender is the ApplicationSet that controls it, where it stands as a member of the order of that one's parent; else
	// nil. Only ApplicationSet.Lend sets it.
	Lender *ApplicationSet
	// Waves is the order that it gives its own children; nil if it gives none.
	Waves *ApplicationSet
	// Annotations are those that configure the gate.
	Annotations Annotations
	// AutoSync says that Argo CD syncs it by itself.
	AutoSync bool
	// Compared stands for what it was compared with.
	Compared Fingerprint
	// Content is what it deploys by its spec, at the revisions that it was compared with if that was with its spec.
	// ContentSince is since when its spec has been the same, as far as the object tells, by the API server's clock; zero
	// if it does not.
	Content      Content
	ContentSince time.Time
	// ByAnother says that somebody else than the ApplicationSet controller has written its spec last.
	ByAnother bool
	// Deploys are the sources and revisions that the operation under way names; nil if there is none, or if it names none.
	Deploys []policy.Source
	// Deployed is what its last full sync deployed, as far as its stamp tells.
	Deployed Content
	// Stopped is Content.Revised of its last full sync, if somebody has terminated that.
	Stopped string
	// Stamped says that its newest operation has a stamp, and Failed is Stamp.Failed of that.
	Stamped bool
	Failed  time.Time
	// Oldest and Newest are the numbers of these entries of its history; 0 if it has none.
	Oldest, Newest int64
	// Retry is the sync that has failed and is tried again; nil if there is none.
	Retry *Retry
	// Report stands for what an agent reports of it; 0 if none does.
	Report Fingerprint
	// Relayed says that argocd-agent writes its comparisons, which the Argo CD of another cluster has made.
	Relayed bool
	// Ours says that stepgate has started its last operation.
	Ours bool
	// ByHand is when somebody started its last full sync by hand; zero if Argo CD or stepgate did, or if there was none.
	ByHand time.Time
	// NamespaceChanged says that the spec has other metadata for the namespace than the last sync wrote: Argo CD is
	// about to find it OutOfSync.
	NamespaceChanged bool
	// Project is the name of its AppProject, and WindowSubject is what the sync windows of that select it by.
	Project       string
	WindowSubject WindowSubject
	Application   policy.Application
}

// NewProjection is Tracking.Projection by the zero Tracking.
func NewProjection(app *argo.Application) *Projection { return Tracking{}.Projection(app) }

// Projection keeps the part of an Application that decisions need.
func (t Tracking) Projection(app *argo.Application) *Projection {
	app = asCompared(app)
	annotations := ReadAnnotations(app.Annotations)
	p := &Projection{
		ObjectMeta:   Identity(app),
		Waves:        t.waves(app, annotations),
		Annotations:  annotations,
		AutoSync:     app.Spec.SyncPolicy != nil && app.Spec.SyncPolicy.IsAutomatedSyncEnabled(),
		Compared:     NewFingerprint(&app.Status.Sync),
		Content:      ContentOf(&app.Spec),
		ContentSince: specWritten(app),
		ByAnother:    writtenByAnother(app),
		Relayed:      relayed(app),
		Ours:         app.Status.OperationState != nil && app.Status.OperationState.Operation.InitiatedBy.Username == Starter,
		ByHand:       byHand(&app.Status),

		NamespaceChanged: app.HasChangedManagedNamespaceMetadata(),

		Project:       ProjectOf(app),
		WindowSubject: WindowSubjectOf(app),
		Application:   Sibling(app),
	}
	if p.Application.SpecCompared {
		sync := &app.Status.Sync
		p.Content = p.Content.at(revisions(sync.Revision, sync.Revisions))
	}
	p.Report = reportOf(&p.Application)
	o := operatedOf(app.Status.OperationState)
	full := o.lastFull(&app.Spec, app.Operation)
	p.Deployed, p.Deploys, p.Stopped, p.Retry = full.deployed(), deploying(app, o), full.stopped(), o.retry(app)
	if h := app.Status.History; len(h) > 0 {
		p.Oldest, p.Newest = h[0].ID, h.LastRevisionHistory().ID
	}
	newest := newestStamp(app, o)
	p.Stamped, p.Failed = newest.Version == stampVersion, newest.Failed
	owner, set := t.OwnerOf(app)
	if owner == "" || set.Namespace == app.Namespace {
		p.Owner, p.Set = owner, set.Name
		return p
	}
	member := *p
	member.Owner, member.Set, member.Namespace = owner, set.Name, set.Namespace
	member.Name = policy.MemberName(set.Namespace, app.Namespace, app.Name)
	member.Application.Name = member.Name
	p.elsewhere = &member
	return p
}

// Member is the Application as what orders it has it: one whose order is in another namespace is there under its
// policy.MemberName. Any other is itself.
func (p *Projection) Member() *Projection { return cmp.Or(p.elsewhere, p) }

// As is the Application under a name that stands for it (ObjectName).
func (p *Projection) As(name types.NamespacedName) *Projection {
	if m := p.Member(); m.Namespace == name.Namespace && m.Name == name.Name {
		return m
	}
	return p
}

// Object is the name of the Application, whatever it is as a member.
func (p *Projection) Object() types.NamespacedName {
	return ObjectName(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
}

// OwnerOf is the UID and the name of the ApplicationSet that controls an Application, or of the order that its parent may
// give; both are empty if there is none.
func (t Tracking) OwnerOf(app metav1.Object) (uid types.UID, set types.NamespacedName) {
	namespace := app.GetNamespace()
	if owner := metav1.GetControllerOfNoCopy(app); owner != nil {
		return owner.UID, types.NamespacedName{Namespace: namespace, Name: owner.Name}
	}
	tracking := app.GetAnnotations()[common.AnnotationKeyAppInstance]
	parent := t.parentOf("Application", namespace, app.GetName(), app.GetLabels(), tracking)
	if parent.Name == "" {
		return "", types.NamespacedName{}
	}
	return UIDOfParent(parent.Namespace, parent.Name), orderOf(parent)
}

// Controlled reports whether an ApplicationSet controls the Application.
func (p *Projection) Controlled() bool {
	_, parent := policy.ParentNamed(p.Set)
	return p.Owner != "" && !parent
}

// Identity is the part of an object's metadata that an informer's store needs.
func Identity(object metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		ResourceVersion: object.GetResourceVersion(),
	}
}

// GetObjectKind implements runtime.Object, for a list of projections.
func (*Projection) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (p *Projection) DeepCopyObject() runtime.Object {
	c := *p
	return &c
}
