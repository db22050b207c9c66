// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// pageSize bounds the objects of a page. A large Application has 100 KiB.
const pageSize = 250

// paged lists in pages, and keeps only the projections of each. It is for API servers that do not stream the first list
// (WatchList, Kubernetes 1.32 and 1.34 on): 10,000 Applications in one piece take more memory than stepgate has.
type paged struct {
	cache.ListerWatcherWithContext
	// keep makes what is stored of an object.
	keep func(object any) (any, error)
}

// List lists without a context.
func (p paged) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

// Watch watches without a context.
func (p paged) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported reports what the source says of itself.
func (p paged) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(p.ListerWatcherWithContext)
}

// ListWithContext lists all pages. The list is at least as new as the one that is asked for: with a resource version,
// an API server may answer from its cache, which knows no pages.
func (p paged) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch, options.Limit, options.Continue = "", "", pageSize, ""
	all := &projections{}
	for {
		page, err := p.ListerWatcherWithContext.ListWithContext(ctx, options)
		if err != nil {
			return nil, err
		}
		if err := meta.EachListItem(page, func(object runtime.Object) error { return all.add(p.keep(object)) }); err != nil {
			return nil, err
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return nil, err
		}
		all.ResourceVersion = list.GetResourceVersion()
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// projections are a list of what is stored.
type projections struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject implements runtime.Object.
func (l *projections) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

func (l *projections) add(kept any, err error) error {
	if err != nil {
		return err
	}
	item, ok := kept.(runtime.Object)
	if !ok {
		return fmt.Errorf("a %T cannot be listed", kept)
	}
	l.Items = append(l.Items, item)
	return nil
}

// GetObjectKind implements runtime.Object, for a list of projections.
func (*setProjection) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (s *setProjection) DeepCopyObject() runtime.Object {
	c := *s
	return &c
}

// GetObjectKind implements runtime.Object, for a list of projections.
func (*projectProjection) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (p *projectProjection) DeepCopyObject() runtime.Object {
	c := *p
	return &c
}
