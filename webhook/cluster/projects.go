// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/stepgate/stepgate/webhook/argocd"
)

const nameIndex = "name"

// projects are the AppProjects that a Cache watches. Without the permission to do that, none is known.
type projects struct {
	store      cache.Indexer
	controller cache.Controller
	permission *permission
}

// projectProjection is an AppProject for the informer's store. Its metadata is as short as a Projection's.
type projectProjection struct {
	metav1.ObjectMeta
	windows argo.SyncWindows
}

// WatchProjects also watches the AppProjects that a source gives, which are those of Argo CD's namespace. Argo CD
// itself keeps their sync windows. The Cache is therefore complete without them where it may not watch them.
// WatchProjects is called before Run.
func (c *Cache) WatchProjects(source cache.ListerWatcher) {
	p := &projects{permission: &permission{ListerWatcherWithContext: cache.ToListerWatcherWithContext(source)}}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: paged{p.permission, c.transform}, ObjectType: &argo.AppProject{}, Handler: c.windows(),
		Transform: c.transform,
		Indexers:  cache.Indexers{nameIndex: nameOf},
	})
	p.store, p.controller = store.(cache.Indexer), controller
	c.projects = p
}

// Windows returns the sync windows of a project, as last watched; false when the project is not known. They are only
// read.
func (c *Cache) Windows(project string) (argo.SyncWindows, bool) {
	if c.projects == nil || c.projects.permission.lacking.Load() {
		return nil, false
	}
	objects, err := c.projects.store.ByIndex(nameIndex, project)
	if err != nil || len(objects) == 0 {
		return nil, false // there is such an index
	}
	return windowsOf(objects[0]), true
}

// nameOf is the index key of a project: they are all of one namespace.
func nameOf(object any) ([]string, error) {
	if p, ok := object.(*projectProjection); ok {
		return []string{p.Name}, nil
	}
	return nil, nil
}

// synced reports whether the first list is complete, or not to be had.
func (p *projects) synced() bool {
	return p == nil || p.controller.HasSynced() || p.permission.lacked.Load()
}

// windows handles the events of AppProjects: those that change sync windows.
func (c *Cache) windows() cache.ResourceEventHandler {
	changed := func(before, after any) {
		if was, is := windowsOf(before), windowsOf(after); len(was)+len(is) > 0 && !reflect.DeepEqual(was, is) {
			c.projectChanged(after)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { changed(nil, object) },
		UpdateFunc: changed,
		DeleteFunc: func(object any) {
			if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = missed.Obj
			}
			if len(windowsOf(object)) > 0 {
				c.projectChanged(object)
			}
		},
	}
}

func windowsOf(object any) argo.SyncWindows {
	if p, ok := object.(*projectProjection); ok {
		return p.windows
	}
	return nil
}

// projectChanged tells of every ApplicationSet that has Applications of a project, once.
func (c *Cache) projectChanged(object any) {
	project, ok := object.(*projectProjection)
	if !ok {
		return
	}
	told := map[types.NamespacedName]bool{}
	for _, s := range c.stores {
		for _, object := range s.applications.List() {
			p, ok := object.(*argocd.Projection)
			if !ok {
				continue
			}
			if p = p.Member(); p.Set == "" || p.Project != project.Name {
				continue
			}
			keys := []types.NamespacedName{{Namespace: p.Namespace, Name: p.Set}}
			if lender := c.lender(Owner{p.Namespace, p.Owner}); lender != nil {
				keys = append(keys, orderOf(lender)...)
			}
			for _, key := range keys {
				if !told[key] {
					told[key] = true
					c.changed(key)
				}
			}
		}
	}
}

// askAgain is when a permission that is lacking is asked for again.
const askAgain = time.Minute

// permission is a source that waits for the permission to list and watch, instead of failing: an informer would log
// that each time it tries. A resource that the API server does not have counts as lacking, too.
type permission struct {
	cache.ListerWatcherWithContext
	// lacking says that it lacks at present, and lacked that it was lacking once.
	lacking, lacked atomic.Bool
}

// ListWithContext lists, once that is permitted.
func (p *permission) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return permitted(ctx, p, func() (runtime.Object, error) {
		return p.ListerWatcherWithContext.ListWithContext(ctx, options)
	})
}

// WatchWithContext watches, once that is permitted.
func (p *permission) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return permitted(ctx, p, func() (watch.Interface, error) {
		return p.ListerWatcherWithContext.WatchWithContext(ctx, options)
	})
}

// IsWatchListSemanticsUnSupported reports what the source says of itself.
func (p *permission) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(p.ListerWatcherWithContext)
}

// permitted calls until the call is permitted or ctx is done.
func permitted[T any](ctx context.Context, p *permission, call func() (T, error)) (T, error) {
	for {
		result, err := call()
		if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			if err == nil && p.lacking.CompareAndSwap(true, false) {
				logr.FromContextOrDiscard(ctx).Info("AppProjects can be watched now")
			}
			return result, err
		}
		p.lacked.Store(true)
		if p.lacking.CompareAndSwap(false, true) {
			logr.FromContextOrDiscard(ctx).Info(
				"AppProjects cannot be watched: stepgate takes every sync window for open, and Argo CD alone keeps them",
				"problem", err.Error(),
			)
		}
		select {
		case <-ctx.Done():
			return result, err
		case <-time.After(askAgain):
		}
	}
}
