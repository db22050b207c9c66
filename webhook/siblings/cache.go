package siblings

import (
	"context"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/policy"
)

const ownerIndex = "owner"

// Cache holds a Projection of every Application, kept up to date by a watch. It may lag behind the API server by any
// time. It only ever makes a decision cheaper or stricter: what it says is confirmed or proved current by live reads.
type Cache struct {
	indexer    cache.Indexer
	controller cache.Controller
	sightings  sightings
}

// NewCache returns a Cache that lists and watches Applications with source. It is empty until Run.
func NewCache(source cache.ListerWatcher) *Cache {
	c := &Cache{sightings: sightings{seen: map[types.UID]sighting{}}}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source,
		ObjectType:    &argo.Application{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    c.sightings.saw,
			UpdateFunc: func(_, object any) { c.sightings.saw(object) },
			DeleteFunc: c.sightings.lost,
		},
		Transform: transform,
		Indexers: cache.Indexers{ownerIndex: func(object any) ([]string, error) {
			p, ok := object.(*Projection)
			if !ok || p.Owner == "" {
				return nil, nil
			}
			return []string{string(p.Owner)}, nil
		}},
	})
	c.indexer, c.controller = store.(cache.Indexer), controller
	return c
}

// Run watches until ctx is done.
func (c *Cache) Run(ctx context.Context) { c.controller.RunWithContext(ctx) }

// Synced reports whether the first list is complete.
func (c *Cache) Synced() bool { return c.controller.HasSynced() }

// Owned returns what is known of the Applications that an ApplicationSet controls.
func (c *Cache) Owned(owner types.UID) []*Projection {
	objects, err := c.indexer.ByIndex(ownerIndex, string(owner))
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

// FirstSeen returns when Argo CD first compared an Application with these sources and revisions, as far as it still is:
// the time of that comparison, by Argo CD's clock. It is zero when the watch has not seen it. The watch may have begun
// later than that, and then the time is later, too, which makes a decision stricter.
func (c *Cache) FirstSeen(app types.UID, compared []policy.Source) time.Time {
	return c.sightings.first(app, compared)
}
