package siblings

import (
	"fmt"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Projection is the part of an Application that stepgate keeps: the rule's part, and its version and owner. Only
// name, namespace, UID and resourceVersion of the embedded metadata are set, for the informer's store.
type Projection struct {
	metav1.ObjectMeta
	// Owner is the UID of the controlling ApplicationSet; empty when there is none.
	Owner types.UID
	// Set is the name of the ApplicationSet that controls it; empty when there is none.
	Set string
	// AutoSync says that Argo CD syncs it by itself.
	AutoSync bool
	// Compared stands for what it was compared with.
	Compared argocd.Fingerprint
	// Around is what it deploys by beside its sources, as one text, and Content stands for both. ContentSince is since when its spec
	// has been the same, as far as the object tells, by the API server's clock; zero where it does not.
	Around       string
	Content      argocd.Fingerprint
	ContentSince time.Time
	// NamespaceChanged says that the spec has other metadata for the namespace than the last sync wrote: Argo CD is about to find it OutOfSync.
	NamespaceChanged bool
	// Project is the name of its AppProject, and WindowSubject is what the sync windows of that select it by.
	Project       string
	WindowSubject argocd.WindowSubject
	Application   policy.Application
}

// NewProjection keeps the part of an Application that decisions need.
func NewProjection(app *argo.Application) *Projection {
	owner := metav1.GetControllerOfNoCopy(app)
	if owner == nil {
		owner = &metav1.OwnerReference{}
	}
	around := argocd.Around(&app.Spec)
	return &Projection{
		ObjectMeta:   identity(app),
		Owner:        owner.UID,
		Set:          owner.Name,
		AutoSync:     app.Spec.SyncPolicy != nil && app.Spec.SyncPolicy.IsAutomatedSyncEnabled(),
		Compared:     argocd.NewFingerprint(&app.Status.Sync),
		Around:       around,
		Content:      argocd.Content(&app.Spec, around),
		ContentSince: specWritten(app),

		NamespaceChanged: app.HasChangedManagedNamespaceMetadata(),

		Project:       argocd.ProjectOf(app),
		WindowSubject: argocd.WindowSubjectOf(app),
		Application:   argocd.Sibling(app),
	}
}

// specWritten is when a part of the spec was last added or changed, or a later time: the API server keeps when each writer last added or changed
// anything, and which fields it owns. That a part was taken away leaves no trace there. It is zero where nothing is kept.
func specWritten(app *argo.Application) time.Time {
	var last time.Time
	for _, f := range app.ManagedFields {
		if f.Time != nil && f.FieldsV1 != nil && f.Time.After(last) && strings.Contains(f.FieldsV1.GetRawString(), `"f:spec"`) {
			last = f.Time.Time
		}
	}
	return last
}

// setProjection is an ApplicationSet for the informer's store. Its metadata is as short as a Projection's.
type setProjection struct {
	metav1.ObjectMeta
	set *argocd.ApplicationSet
}

func identity(object metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}
}

// transform is what an informer applies to every object before it stores it.
func transform(object any) (any, error) {
	switch o := object.(type) {
	case *argo.Application:
		return NewProjection(o), nil
	case *argo.ApplicationSet:
		return &setProjection{ObjectMeta: identity(o), set: argocd.NewApplicationSet(o)}, nil
	case *argo.AppProject:
		return &projectProjection{ObjectMeta: identity(o), windows: argocd.SyncWindows(o)}, nil
	case *Projection, *setProjection, *projectProjection:
		return o, nil // an informer may apply it twice
	}
	return nil, fmt.Errorf("a watch of Argo CD's objects gave a %T", object)
}

func controllerOf(object metav1.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return owner.UID
	}
	return ""
}
