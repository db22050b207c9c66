package main

import (
	"context"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// eventCreator creates Events with a clientset.
type eventCreator struct{ clientset kubernetes.Interface }

// CreateEvent creates one Event.
func (c eventCreator) CreateEvent(ctx context.Context, event *eventsv1.Event) error {
	_, err := c.clientset.EventsV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

// argoMapper knows the two resources that stepgate reads, so that a decision never waits for discovery.
func argoMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind, plural := range map[string]string{"Application": "applications", "ApplicationSet": "applicationsets"} {
		gv := argo.SchemeGroupVersion
		mapper.AddSpecific(gv.WithKind(kind), gv.WithResource(plural), gv.WithResource(plural), meta.RESTScopeNamespace)
	}
	return mapper
}
