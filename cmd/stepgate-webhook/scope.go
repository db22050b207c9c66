// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/webhook/record"
)

// ungatedFor is for how long the namespaces are remembered that are not gated. They are for people, and need not be of
// this second.
const ungatedFor = 5 * time.Minute

// scope is the record.Scope of the namespaces of this program.
type scope struct {
	flags.Namespaces
	versions metadata.Interface

	mu      sync.Mutex
	until   time.Time
	ungated []string
}

var _ record.Scope = (*scope)(nil)

// Ignored lists the gated namespaces whose emergency switch is on.
func (s *scope) Ignored(ctx context.Context) ([]string, error) {
	return s.list(ctx, corev1.SchemeGroupVersion.WithResource("namespaces"), record.IgnoreLabel+"="+record.IgnoreValue,
		func(o *metav1.PartialObjectMetadata) (string, bool) {
			return o.Name, s.Gated(o.Name)
		})
}

// Ungated lists the namespaces that have ApplicationSets and are not gated, as they were within the last minutes.
// Without the permission it lists none: it is left out on purpose.
func (s *scope) Ungated(ctx context.Context) ([]string, error) {
	if len(s.Namespaces) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.until) {
		names, err := s.list(ctx, argo.SchemeGroupVersion.WithResource("applicationsets"), "",
			func(o *metav1.PartialObjectMetadata) (string, bool) {
				return o.Namespace, !s.Gated(o.Namespace)
			})
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		s.ungated, s.until = names, now.Add(ungatedFor)
	}
	return s.ungated, nil
}

// list lists the metadata of objects of all namespaces, and returns the namespaces that pick finds, each once.
func (s *scope) list(
	ctx context.Context, resource schema.GroupVersionResource, selector string,
	pick func(*metav1.PartialObjectMetadata) (string, bool),
) ([]string, error) {
	objects, err := s.versions.Resource(resource).List(ctx, metav1.ListOptions{
		LabelSelector: selector, ResourceVersion: "0",
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range objects.Items {
		if name, ok := pick(&objects.Items[i]); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
