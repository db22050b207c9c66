// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// LargestObject bounds an object that is read, in bytes of JSON.
const LargestObject = 256 << 10

// ErrTooLarge is the error about an object that is larger than LargestObject.
var ErrTooLarge = errors.New("it is larger than 256 KiB")

// Getter reads one whole object. Objects is one.
type Getter interface {
	// Get reads no more than LargestObject. Of a larger one it returns ErrTooLarge.
	Get(ctx context.Context, kind schema.GroupVersionResource, name types.NamespacedName) (
		*unstructured.Unstructured, error)
}

// Objects reads objects of any kind at the API server.
type Objects struct{ client rest.Interface }

// NewObjects returns Objects. It calls the API server only when it is used.
func NewObjects(config *rest.Config) (*Objects, error) {
	config = dynamic.ConfigFor(config)
	config.GroupVersion = &schema.GroupVersion{} // the path of each request has its own
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	return &Objects{client}, nil
}

// Get is Getter.
func (o *Objects) Get(
	ctx context.Context, kind schema.GroupVersionResource, name types.NamespacedName,
) (*unstructured.Unstructured, error) {
	root := []string{"apis", kind.Group, kind.Version}
	if kind.Group == "" {
		root = []string{"api", kind.Version}
	}
	get := o.client.Get().AbsPath(root...).Namespace(name.Namespace).Resource(kind.Resource).Name(name.Name)
	body, err := get.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(io.LimitReader(body, LargestObject+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", kind.Resource, name, err)
	case len(text) > LargestObject:
		return nil, ErrTooLarge
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind.Resource, name, err)
	}
	return object, nil
}
