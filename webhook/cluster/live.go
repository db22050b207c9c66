// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Observer is told of every live read, for the metrics.
type Observer interface {
	// ReadDone reports one read, by its kind: "applicationset_metadata_list", "applicationset_metadata_get",
	// "applicationset_get", "application_get", "application_metadata_list" or "application_barrier".
	ReadDone(kind string, took time.Duration, err error)
}

// APIServer reads live from the API server: no read has a resourceVersion, and none is answered from a cache here.
type APIServer struct {
	objects  client.Reader
	metadata metadata.Interface
	observe  Observer
	tracking argocd.Tracking
}

// NewAPIServer returns an APIServer. Both clients have to go to the API server with every read.
func NewAPIServer(objects client.Reader, metadata metadata.Interface, observe Observer) *APIServer {
	return &APIServer{objects: objects, metadata: metadata, observe: observe}
}

// Tracking is the APIServer that finds the children of parents by a Tracking.
func (s *APIServer) Tracking(t argocd.Tracking) *APIServer {
	next := *s
	next.tracking = t
	return &next
}

var _ Live = (*APIServer)(nil)

// ApplicationSet reads an ApplicationSet, or the order that a parent gives; nil without an error means that there is none.
func (s *APIServer) ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	if parent, is := policy.ParentNamed(name.Name); is {
		p, err := s.Application(ctx, types.NamespacedName{Namespace: name.Namespace, Name: parent})
		if err != nil || p == nil {
			return nil, err
		}
		return p.Waves, nil
	}
	var set argo.ApplicationSet
	found, err := s.get(ctx, "applicationset_get", name, &set)
	if err != nil {
		return nil, fmt.Errorf("get ApplicationSet %s: %w", name, err)
	}
	if !found {
		return nil, nil
	}
	return s.tracking.ApplicationSet(&set), nil
}

// Application reads one Application, by a name that stands for it (argocd.ObjectName); nil without an error means that it
// does not exist.
func (s *APIServer) Application(ctx context.Context, name types.NamespacedName) (*argocd.Projection, error) {
	var app argo.Application
	found, err := s.get(ctx, "application_get", argocd.ObjectName(name), &app)
	if err != nil {
		return nil, fmt.Errorf("get Application %s: %w", name, err)
	}
	if !found {
		return nil, nil
	}
	return s.tracking.Projection(&app).As(name), nil
}

// get reads one object.
func (s *APIServer) get(
	ctx context.Context, kind string, name types.NamespacedName, into client.Object,
) (found bool, err error) {
	return s.read(kind, name, into, func() error { return s.objects.Get(ctx, name, into) })
}

// IsMissing reports whether the API server says that the object of a GET does not exist. A 404 of something else is no
// such answer: neither of a load balancer, nor of an API server that does not serve the resource.
func IsMissing(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

// read reports whether the object exists. A missing object is an answer and not a failure, but only if the API server
// names that object: a load balancer without a backend answers "404 page not found", and so does an API server that
// does not serve the resource.
func (s *APIServer) read(
	kind string, name types.NamespacedName, into metav1.Object, read func() error,
) (found bool, err error) {
	start := time.Now()
	err = read()
	found = err == nil
	switch {
	case IsMissing(err):
		err = nil
	case found && (into.GetNamespace() != name.Namespace || into.GetName() != name.Name ||
		into.GetResourceVersion() == ""):
		found, err = false, errors.New("the answer is not this object")
	}
	s.observe.ReadDone(kind, time.Since(start), err)
	return found, err
}

// someRecorded is the number of recorded Applications up to which a GET of an ApplicationSet's metadata is cheap: the
// API server decodes all of the object for it. Above that number it is listed. The API server answers a LIST from its
// watch cache, and decodes nothing. While other objects are written fast, it may take 100 ms to bring that cache up to
// date.
const someRecorded = 100

// SetVersion gets or lists the metadata of one ApplicationSet that records so many Applications; the zero Version
// without an error means that there is none.
func (s *APIServer) SetVersion(ctx context.Context, name types.NamespacedName, recorded int) (Version, error) {
	if recorded <= someRecorded {
		return s.metadataOf(ctx, name)
	}
	byName := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name.Name).String()}
	versions, err := s.list(ctx, "applicationset", name.Namespace, byName)
	if err != nil {
		return Version{}, fmt.Errorf("list the metadata of ApplicationSet %s: %w", name, err)
	}
	for _, v := range versions {
		if v.Name == name.Name {
			return v, nil
		}
	}
	return Version{}, nil
}

// metadataOf gets the metadata of one ApplicationSet.
func (s *APIServer) metadataOf(ctx context.Context, name types.NamespacedName) (Version, error) {
	var object metav1.PartialObjectMetadata
	found, err := s.read("applicationset_metadata_get", name, &object, func() error {
		read, err := s.metadata.Resource(
			argo.SchemeGroupVersion.WithResource("applicationsets"),
		).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		if err == nil {
			object = *read
		}
		return err
	})
	switch {
	case err != nil:
		return Version{}, fmt.Errorf("get the metadata of ApplicationSet %s: %w", name, err)
	case !found:
		return Version{}, nil
	}
	return Version{Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion}, nil
}

// Versions lists the metadata of the Applications that a selector selects.
func (s *APIServer) Versions(ctx context.Context, namespace string, selector labels.Selector) ([]Version, error) {
	versions, err := s.list(ctx, "application", namespace, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("list the metadata of the Applications of namespace %s: %w", namespace, err)
	}
	return versions, nil
}

// list lists metadata, in protobuf.
func (s *APIServer) list(ctx context.Context, kind, namespace string, options metav1.ListOptions) ([]Version, error) {
	start := time.Now()
	objects := s.metadata.Resource(argo.SchemeGroupVersion.WithResource(kind + "s")).Namespace(namespace)
	list, err := objects.List(ctx, options)
	switch {
	case err != nil:
	case list.Continue != "":
		err = errors.New("the answer is partial")
	case list.ResourceVersion == "":
		err = errors.New("the answer is not a list")
	}
	s.observe.ReadDone(kind+"_metadata_list", time.Since(start), err)
	if err != nil {
		return nil, err
	}
	versions := make([]Version, 0, len(list.Items))
	for i := range list.Items {
		item := &list.Items[i]
		owner, set := s.tracking.OwnerOf(item)
		versions = append(versions, Version{
			Name: item.Name, UID: item.UID, Owner: owner, Set: set.Name, ResourceVersion: item.ResourceVersion,
			Labels: argocd.Labels(item.Labels, item.Annotations),
		})
	}
	return versions, nil
}
