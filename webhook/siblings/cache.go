package siblings

import (
	"context"
	"sync"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

const ownerIndex = "owner"

// Cache holds what is needed of every Application and every ApplicationSet, kept up to date by watches. It may lag
// behind the API server by any time. It only ever makes a decision cheaper or stricter: what it says is confirmed or
// proved current by live reads.
type Cache struct {
	applications, sets cache.Indexer
	controllers        []cache.Controller
}

// NewCache returns a Cache that lists and watches Applications and ApplicationSets. It is empty until Run.
func NewCache(applications, sets cache.ListerWatcher) *Cache {
	c := &Cache{}
	c.applications = c.watch(applications, &argo.Application{}, cache.Indexers{ownerIndex: func(object any) ([]string, error) {
		p, ok := object.(*Projection)
		if !ok || p.Owner == "" {
			return nil, nil
		}
		return []string{string(p.Owner)}, nil
	}})
	c.sets = c.watch(sets, &argo.ApplicationSet{}, nil)
	return c
}

func (c *Cache) watch(source cache.ListerWatcher, object runtime.Object, indexers cache.Indexers) cache.Indexer {
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source,
		ObjectType:    object,
		Handler:       cache.ResourceEventHandlerFuncs{},
		Transform:     transform,
		Indexers:      indexers,
	})
	c.controllers = append(c.controllers, controller)
	return store.(cache.Indexer)
}

// Run watches until ctx is done.
func (c *Cache) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, controller := range c.controllers {
		running.Go(func() { controller.RunWithContext(ctx) })
	}
	running.Wait()
}

// Synced reports whether the first lists are complete.
func (c *Cache) Synced() bool {
	for _, controller := range c.controllers {
		if !controller.HasSynced() {
			return false
		}
	}
	return true
}

// Owned returns what is known of the Applications that an ApplicationSet controls.
func (c *Cache) Owned(owner types.UID) []*Projection {
	objects, err := c.applications.ByIndex(ownerIndex, string(owner))
	if err != nil {
		return nil // there is such an index; knowing nothing only costs reads
	}
	known := make([]*Projection, 0, len(objects))
	for _, o := range objects {
		if p, ok := o.(*Projection); ok {
			known = append(known, p)
		}
	}
	return known
}

// SetAt returns an ApplicationSet as it was at a version; nil when that is not known.
func (c *Cache) SetAt(name types.NamespacedName, at Version) *ApplicationSet {
	object, _, err := c.sets.GetByKey(name.String())
	if err != nil {
		return nil // not knowing only costs a read
	}
	set, ok := object.(*setProjection)
	if !ok || set.UID != at.UID || set.ResourceVersion != at.ResourceVersion {
		return nil
	}
	return set.set
}
