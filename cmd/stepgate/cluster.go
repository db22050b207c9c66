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
	"k8s.io/client-go/metadata"
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

// readers returns what reads from the API server with every call, and what is kept of Applications
// and ApplicationSets by watches.
func readers(config *rest.Config, observe siblings.Observer) (*siblings.APIServer, *siblings.Cache, error) {
	scheme := runtime.NewScheme()
	if err := argo.AddToScheme(scheme); err != nil {
		return nil, nil, fmt.Errorf("scheme: %w", err)
	}
	objects, err := client.New(config, client.Options{Scheme: scheme, Mapper: argoMapper()})
	if err != nil {
		return nil, nil, fmt.Errorf("API server client: %w", err)
	}
	versions, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("API server client: %w", err)
	}
	watched := rest.CopyConfig(config)
	watched.APIPath, watched.GroupVersion = "/apis", &argo.SchemeGroupVersion
	watched.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	source, err := rest.RESTClientFor(watched)
	if err != nil {
		return nil, nil, fmt.Errorf("API server client: %w", err)
	}
	applications := cache.NewListWatchFromClient(source, "applications", metav1.NamespaceAll, fields.Everything())
	sets := cache.NewListWatchFromClient(source, "applicationsets", metav1.NamespaceAll, fields.Everything())
	return siblings.NewAPIServer(objects, versions, observe), siblings.NewCache(applications, sets), nil
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
