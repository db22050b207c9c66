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

	"github.com/stepgate/stepgate/webhook/siblings"
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

// watched is what is kept by watches: of the namespaces, or of all when there are none.
func watched(config *rest.Config, namespaces []string) (*siblings.Cache, error) {
	scheme, err := argoScheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &argo.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var sources []siblings.Source
	for _, namespace := range namespaces {
		sources = append(sources, siblings.Source{
			Applications:    cache.NewListWatchFromClient(client, "applications", namespace, fields.Everything()),
			ApplicationSets: cache.NewListWatchFromClient(client, "applicationsets", namespace, fields.Everything()),
		})
	}
	return siblings.NewCache(sources...), nil
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
