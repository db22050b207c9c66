// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Source lists and watches ConfigMaps. client-go's client is one.
type Source interface {
	List(ctx context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// NewWatch returns what tells a Ledger of the ConfigMaps of a Source.
func NewWatch(source Source, l *Ledger) cache.Controller {
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.LabelSelector = Label
				return source.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.LabelSelector = Label
				return source.Watch(ctx, options)
			},
		},
		ObjectType: &corev1.ConfigMap{}, Handler: l.handler(), Transform: withoutContent(l),
	})
	return controller
}

// withoutContent tells the Ledger what an object holds, and keeps its metadata alone.
func withoutContent(l *Ledger) cache.TransformFunc {
	return func(object any) (any, error) {
		m, ok := object.(*corev1.ConfigMap)
		if !ok || m.BinaryData == nil {
			return object, nil
		}
		if o, ours := ObjectOf(m); ours {
			l.Stored(o)
		}
		return &corev1.ConfigMap{ObjectMeta: m.ObjectMeta}, nil
	}
}

// handler tells the Ledger what is gone.
func (l *Ledger) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = missed.Obj
		}
		if m, ok := object.(*corev1.ConfigMap); ok {
			if o, ours := ObjectOf(m); ours {
				l.Gone(o.ID)
			}
		}
	}}
}
