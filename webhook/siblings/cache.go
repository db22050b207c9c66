package siblings

import (
	"context"
	"slices"
	"sync"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

const ownerIndex = "owner"

// Cache holds a Projection of every Application, kept up to date by watches. It may lag behind the API server by any
// time. It only ever makes a decision cheaper or stricter: what it says is confirmed or proved current by live reads.
type Cache struct{ watches []watch }

// watch is one list and watch: of all namespaces, or of one of those that stepgate was told to keep to.
type watch struct {
	indexer    cache.Indexer
	controller cache.Controller
}

// NewCache returns a Cache that lists and watches Applications with the sources, of which no two may give the same
// Application. It is empty until Run.
func NewCache(sources ...cache.ListerWatcher) *Cache {
	c := &Cache{}
	for _, source := range sources {
		store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: source,
			ObjectType:    &argo.Application{},
			Handler:       cache.ResourceEventHandlerFuncs{},
			Transform:     transform,
			Indexers:      cache.Indexers{ownerIndex: ownerOf},
		})
		c.watches = append(c.watches, watch{indexer: store.(cache.Indexer), controller: controller})
	}
	return c
}

func ownerOf(object any) ([]string, error) {
	p, ok := object.(*Projection)
	if !ok || p.Owner == "" {
		return nil, nil
	}
	return []string{string(p.Owner)}, nil
}

// Run watches until ctx is done.
func (c *Cache) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, w := range c.watches {
		group.Go(func() { w.controller.RunWithContext(ctx) })
	}
	group.Wait()
}

// Synced reports whether the first lists are complete.
func (c *Cache) Synced() bool {
	return !slices.ContainsFunc(c.watches, func(w watch) bool { return !w.controller.HasSynced() })
}

// Owned returns what is known of the Applications that an ApplicationSet controls.
func (c *Cache) Owned(owner types.UID) []*Projection {
	var known []*Projection
	for _, w := range c.watches {
		objects, err := w.indexer.ByIndex(ownerIndex, string(owner))
		if err != nil {
			return nil // there is such an index; knowing nothing only costs reads
		}
		known = slices.Grow(known, len(objects))
		for _, o := range objects {
			if p, ok := o.(*Projection); ok {
				known = append(known, p)
			}
		}
	}
	return known
}
