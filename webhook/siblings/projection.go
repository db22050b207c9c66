package siblings

import (
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// Projection is all that is kept of an Application: what the rule needs of it, and what tells whether it is current. Of
// the embedded metadata only name, namespace, UID and resourceVersion are set, for the informer's store.
type Projection struct {
	metav1.ObjectMeta
	// Owner is the UID of the controlling ApplicationSet; empty when there is none.
	Owner       types.UID
	Application policy.Application
}

// NewProjection keeps of an Application what is needed.
func NewProjection(app *argo.Application) *Projection {
	return &Projection{
		ObjectMeta:  metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name, UID: app.UID, ResourceVersion: app.ResourceVersion},
		Owner:       controllerOf(app),
		Application: Project(app),
	}
}

// transform is what an informer applies to every object before it stores it.
func transform(object any) (any, error) {
	switch o := object.(type) {
	case *argo.Application:
		return NewProjection(o), nil
	case *Projection:
		return o, nil // an informer may apply it twice
	}
	return nil, fmt.Errorf("a watch of Applications gave a %T", object)
}

func controllerOf(object metav1.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return owner.UID
	}
	return ""
}
