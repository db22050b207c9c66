// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// getter is a Getter of some objects.
type getter struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*unstructured.Unstructured
	reads   int
	err     error
}

func (g *getter) Get(
	_ context.Context, kind schema.GroupVersionResource, name types.NamespacedName,
) (*unstructured.Unstructured, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reads++
	if g.err != nil {
		return nil, g.err
	}
	if o, ok := g.objects[name]; ok {
		return o.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(kind.GroupResource(), name.Name)
}

// have changes the objects that there are.
func (g *getter) have(objects ...*unstructured.Unstructured) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.objects = map[types.NamespacedName]*unstructured.Unstructured{}
	for _, o := range objects {
		g.objects[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = o
	}
}

func (g *getter) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *getter) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reads
}
