package siblings

import (
	"fmt"
	"strings"

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
		ObjectMeta:  identity(app),
		Owner:       controllerOf(app),
		Application: Project(app),
	}
}

// ApplicationSet is what is needed of an ApplicationSet: for the rule, and its annotations that configure the gate.
type ApplicationSet struct {
	policy.ApplicationSet
	Annotations map[string]string
}

// NewApplicationSet keeps of an ApplicationSet what is needed.
func NewApplicationSet(set *argo.ApplicationSet) *ApplicationSet {
	annotations := map[string]string{}
	for key, value := range set.Annotations {
		if strings.HasPrefix(key, annotationPrefix) {
			annotations[key] = value
		}
	}
	return &ApplicationSet{ApplicationSet: ProjectSet(set), Annotations: annotations}
}

// annotationPrefix is that of all annotations of the gate. Others may be large: kubectl apply keeps the whole object.
const annotationPrefix = "stepgate.io/"

// setProjection is an ApplicationSet for the informer's store; of the metadata as much is set as in a Projection.
type setProjection struct {
	metav1.ObjectMeta
	set *ApplicationSet
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
		return &setProjection{ObjectMeta: identity(o), set: NewApplicationSet(o)}, nil
	case *Projection, *setProjection:
		return o, nil // an informer may apply it twice
	}
	return nil, fmt.Errorf("a watch of Applications or ApplicationSets gave a %T", object)
}

func controllerOf(object metav1.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return owner.UID
	}
	return ""
}
