package main

import (
	"context"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// eventCreator creates Events with a clientset.
type eventCreator struct{ clientset kubernetes.Interface }

// CreateEvent creates one Event.
func (c eventCreator) CreateEvent(ctx context.Context, event *eventsv1.Event) error {
	_, err := c.clientset.EventsV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

// argoObjects is a client of Argo CD's objects that goes to the API server with every call.
func argoObjects(config *rest.Config) (client.Client, error) {
	scheme, err := argoScheme()
	if err != nil {
		return nil, err
	}
	objects, err := client.New(config, client.Options{Scheme: scheme, Mapper: argoMapper()})
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	return objects, nil
}

// watchedApplications are all Applications, for a watch.
func watchedApplications(config *rest.Config) (cache.ListerWatcher, error) {
	scheme, err := argoScheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &argo.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	source, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	return cache.NewListWatchFromClient(source, "applications", metav1.NamespaceAll, fields.Everything()), nil
}

func argoScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := argo.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("scheme: %w", err)
	}
	return scheme, nil
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
