// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"
	"sync"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

const (
	ownerIndex = "owner"
	wavesIndex = "waves"
	afterIndex = "after"
	uidIndex   = "uid"
	lendsIndex = "lends"
	aloneIndex = "alone"
)

// Cache holds the part of every Application and ApplicationSet that decisions need, kept up to date by watches. It may
// lag behind the API server by any time. It only ever makes a decision cheaper or stricter: live reads confirm what it
// says, or show that it is current.
//
// Its Histories are what the watches of Applications have seen.
type Cache struct {
	*Histories
	// changed is told the ApplicationSet of every event; it must not block.
	changed     func(set types.NamespacedName)
	stores      []stores
	controllers []cache.Controller
	// projects is nil unless they are watched, too.
	projects *projects
	arrivals arrivals
	tracking argocd.Tracking
}

// Source lists and watches the objects of a Cache, in all namespaces or in one.
type Source struct{ Applications, ApplicationSets cache.ListerWatcher }

// stores hold the objects of one Source.
type stores struct{ applications, sets cache.Indexer }

// NewCache returns a Cache of all sources, of which no two may give the same object. It is empty until Run.
func NewCache(sources ...Source) *Cache {
	c := &Cache{Histories: NewHistories(clock.RealClock{}), changed: func(types.NamespacedName) {}}
	for _, s := range sources {
		c.stores = append(c.stores, stores{
			applications: c.watch(s.Applications, &argo.Application{}, c.applications(), cache.Indexers{
				ownerIndex: owner, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, afterIndex: after,
				aloneIndex: followsAlone, wavesIndex: givesOrder,
			}),
			sets: c.watch(s.ApplicationSets, &argo.ApplicationSet{}, c.sets(), cache.Indexers{
				afterIndex: after, uidIndex: uid, lendsIndex: lends,
			}),
		})
	}
	return c
}

// owner is the UID of the ApplicationSet, or of the order of the parent, and its own for an Application that no
// ApplicationSet controls and that comes after others.
func owner(object any) (owners []string, err error) {
	p, ok := object.(*argocd.Projection)
	if ok && p.Member().Owner != "" {
		owners = append(owners, string(p.Member().Owner))
	}
	if ok && p.FollowsAlone() {
		owners = append(owners, string(p.UID))
	}
	return owners, nil
}

// givesOrder indexes the Applications that give their children an order.
func givesOrder(object any) ([]string, error) {
	if p, ok := object.(*argocd.Projection); ok && p.Waves != nil {
		return []string{wavesIndex}, nil
	}
	return nil, nil
}

// uid indexes ApplicationSets by their UID.
func uid(object any) ([]string, error) {
	if set, ok := object.(*setProjection); ok {
		return []string{string(set.UID)}, nil
	}
	return nil, nil
}

// lends indexes ApplicationSets by the order in which their Applications count, if that is not their own.
func lends(object any) ([]string, error) {
	if set, ok := object.(*setProjection); ok && set.set.Counts() != nil {
		return []string{string(set.set.Child.Owner)}, nil
	}
	return nil, nil
}

func (c *Cache) watch(
	source cache.ListerWatcher, object runtime.Object, handler cache.ResourceEventHandler, indexers cache.Indexers,
) cache.Indexer {
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: paged{cache.ToListerWatcherWithContext(source), c.transform}, ObjectType: object,
		Handler: handler, Transform: c.transform, Indexers: indexers,
	})
	c.controllers = append(c.controllers, controller)
	return store.(cache.Indexer)
}

// Track has the Cache find the children of parents by a Tracking. It is called before Run.
func (c *Cache) Track(t argocd.Tracking) { c.tracking = t }

// OnChange has f told the ApplicationSet that an event is about: its own, one of an Application of it, or one of the
// sync windows of their project. f must not block. OnChange is called before Run.
func (c *Cache) OnChange(f func(set types.NamespacedName)) { c.changed = f }

// applications handles the events of Applications.
func (c *Cache) applications() cache.ResourceEventHandler {
	return onEvery(func(before, object any, is event) {
		c.arrivals.arrived()
		p, ok := object.(*argocd.Projection)
		switch {
		case !ok:
			return
		case is == gone:
			c.Forget(p)
		case is == listed:
			c.Listed(p)
		default:
			c.Observe(p)
		}
		was, _ := before.(*argocd.Projection)
		c.order(was, p, is)
		c.look(was, p)
		c.followed(append(parentsOf(c.keys(p)), p.Names()...)...)
	})
}

// order keeps the steps of the children of a parent that gives an order. Where that begins or ends, it tells of the
// ApplicationSets whose Applications count there.
func (c *Cache) order(was, p *argocd.Projection, is event) {
	gave, gives := was != nil && was.Waves != nil, p.Waves != nil && is != gone
	switch {
	case gives:
		c.KeepSteps(&p.Waves.ApplicationSet)
	case p.Waves != nil:
		c.ForgetSteps(&p.Waves.ApplicationSet)
	case gave:
		c.ForgetSteps(&was.Waves.ApplicationSet)
	}
	if gave == gives && is != gone {
		return
	}
	for _, set := range c.Lenders(argocd.UIDOfParent(p.Namespace, p.Name)) {
		c.changed(types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
	}
}

// look tells of everything whose syncs a change of an Application may concern. It may have been of somebody else before.
func (c *Cache) look(was, p *argocd.Projection) {
	keys := c.keys(p)
	for _, key := range keys {
		c.changed(key)
	}
	if was == nil {
		return
	}
	for _, key := range c.keys(was) {
		if !slices.Contains(keys, key) {
			c.changed(key)
		}
	}
}

// keys are those of an Application, and that of the order of its ApplicationSet's parent.
func (c *Cache) keys(p *argocd.Projection) []types.NamespacedName {
	keys := p.Keys()
	if lender := c.lender(Owner{p.Namespace, p.Owner}); lender != nil {
		keys = append(keys, orderOf(lender)...)
	}
	return keys
}

// orderOf is the key of the order that the parent of an ApplicationSet may give; none without a parent.
func orderOf(set *argocd.ApplicationSet) []types.NamespacedName {
	if child := set.Child; child != nil {
		return []types.NamespacedName{{Namespace: set.Namespace, Name: child.Set}}
	}
	return nil
}

// sets handles the events of ApplicationSets.
func (c *Cache) sets() cache.ResourceEventHandler {
	return onEvery(func(before, object any, is event) {
		if set, ok := object.(*setProjection); ok {
			if is == gone {
				c.ForgetSteps(&set.set.ApplicationSet)
				c.Unlend(set.set)
			} else {
				c.KeepSteps(&set.set.ApplicationSet)
				c.Lend(set.set, is == listed)
			}
			was, ok := before.(*setProjection)
			if ok && is == changed && set.pass.Ended(was.pass) {
				c.PassEnded(OwnerOf(&set.set.ApplicationSet), set.ResourceVersion)
			}
			name := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
			orders := orderOf(set.set)
			if ok && !slices.Equal(orderOf(was.set), orders) {
				orders = append(orders, orderOf(was.set)...)
			}
			for _, key := range append(orders, name) {
				c.changed(key)
			}
			c.followed(append(parentsOf(orders), name)...)
		}
	})
}

// parentsOf are the parents among those whose orders have these keys.
func parentsOf(keys []types.NamespacedName) (names []types.NamespacedName) {
	for _, key := range keys {
		if parent, is := policy.ParentNamed(key.Name); is {
			names = append(names, types.NamespacedName{Namespace: key.Namespace, Name: parent})
		}
	}
	return names
}

// Run watches until ctx is done.
func (c *Cache) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, controller := range c.controllers {
		running.Go(func() { controller.RunWithContext(ctx) })
	}
	if c.projects != nil {
		running.Go(func() { c.projects.controller.RunWithContext(ctx) })
	}
	running.Wait()
}

// Synced reports whether the first lists are complete. It does not wait for AppProjects that may not be listed.
func (c *Cache) Synced() bool {
	return c.projects.synced() && !slices.ContainsFunc(c.controllers, func(controller cache.Controller) bool {
		return !controller.HasSynced()
	})
}

// Watched are the resourceVersions up to which the watches of a Source have told everything; empty before the first
// list. Every event raises them, and where there are none, the API server's bookmarks do, about once a minute.
type Watched struct{ Applications, ApplicationSets string }

// Watched returns how far the watches are, in the order of the sources.
func (c *Cache) Watched() []Watched {
	all := make([]Watched, 0, len(c.stores))
	for i := range c.stores { // each has two controllers
		all = append(all, Watched{
			Applications:    c.controllers[2*i].LastSyncResourceVersion(),
			ApplicationSets: c.controllers[2*i+1].LastSyncResourceVersion(),
		})
	}
	return all
}

// Owned returns the Applications that an ApplicationSet controls, or the members of the order that a parent gives, as
// last watched.
func (c *Cache) Owned(owner types.UID) []*argocd.Projection {
	known := c.owned(owner)
	for _, set := range c.Lenders(owner) {
		known = append(known, c.Lent(set, c.owned(types.UID(set.UID)))...)
	}
	return known
}

// owned returns the Applications that have an owner.
func (c *Cache) owned(owner types.UID) []*argocd.Projection {
	var known []*argocd.Projection
	for _, s := range c.stores {
		objects, err := s.applications.ByIndex(ownerIndex, string(owner))
		if err != nil {
			return nil // there is such an index; knowing nothing only costs reads
		}
		known = slices.Grow(known, len(objects))
		for _, o := range objects {
			switch p, ok := o.(*argocd.Projection); {
			case ok && p.UID == owner: // it is alone
				known = append(known, p)
			case ok:
				known = append(known, p.Member())
			}
		}
	}
	return Members(c, owner, known)
}

// Sets give ApplicationSets, and orders of parents, as last watched; nil for one that is not known.
type Sets interface {
	Set(name types.NamespacedName) (*argocd.ApplicationSet, Version)
}

// WithSets is the order of a parent with what is known of the ApplicationSets that it deploys. It returns an ApplicationSet,
// and nil, as they are.
func WithSets(known Sets, order *argocd.ApplicationSet) *argocd.ApplicationSet {
	return order.WithSets(func(name string) *argocd.ApplicationSet {
		set, _ := known.Set(types.NamespacedName{Namespace: order.Namespace, Name: name})
		return set
	})
}

// Members leaves those out of the Applications of an owner whom a known order does not have (policy.ApplicationSet's Has).
// What is given is not used any more.
func Members(known Sets, owner types.UID, apps []*argocd.Projection) []*argocd.Projection {
	if !argocd.IsOrder(owner) {
		return apps
	}
	return slices.DeleteFunc(apps, func(p *argocd.Projection) bool {
		if p.Object().Namespace == p.Namespace {
			return false
		}
		set, _ := known.Set(types.NamespacedName{Namespace: p.Namespace, Name: p.Set})
		return set != nil && !set.Has(p.Name)
	})
}

// Lending implements Watch. An ApplicationSet that becomes known meanwhile is in one of the two indexes.
func (c *Cache) Lending(namespace string, order types.UID) []types.NamespacedName {
	var names []types.NamespacedName
	for _, s := range c.stores {
		for _, owner := range s.applications.ListIndexFuncValues(ownerIndex) {
			if known, _ := s.sets.IndexKeys(uidIndex, owner); len(known) > 0 || argocd.IsOrder(types.UID(owner)) {
				continue
			}
			apps, _ := s.applications.ByIndex(ownerIndex, owner) // there is such an index
			for _, object := range apps {
				p, ok := object.(*argocd.Projection)
				if ok && p.Namespace == namespace && p.Controlled() && string(p.Owner) == owner {
					names = append(names, types.NamespacedName{Namespace: namespace, Name: p.Set})
					break
				}
			}
		}
		sets, _ := s.sets.ByIndex(lendsIndex, string(order))
		for _, object := range sets {
			set, ok := object.(*setProjection)
			if !ok {
				continue
			}
			name := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
			if !slices.Contains(names, name) { // it may have been created again
				names = append(names, name)
			}
		}
	}
	return names
}

// Count is how many Applications a namespace has, as last watched.
func (c *Cache) Count(namespace string) int {
	n := 0
	for _, s := range c.stores {
		names, err := s.applications.IndexKeys(cache.NamespaceIndex, namespace)
		if err == nil { // there is such an index
			n += len(names)
		}
	}
	return n
}

// Set returns an ApplicationSet, or the order that a parent gives its children, and its version; nil when none is known.
func (c *Cache) Set(name types.NamespacedName) (*argocd.ApplicationSet, Version) {
	if parent, is := policy.ParentNamed(name.Name); is {
		p := c.Application(types.NamespacedName{Namespace: name.Namespace, Name: parent})
		if p == nil || p.Waves == nil {
			return nil, Version{}
		}
		return WithSets(c, p.Waves), Version{Name: name.Name, UID: types.UID(p.Waves.UID), ResourceVersion: p.ResourceVersion}
	}
	for _, s := range c.stores {
		object, _, err := s.sets.GetByKey(name.String())
		if err != nil {
			break // not knowing only costs a read
		}
		if set, ok := object.(*setProjection); ok {
			return set.set, Version{Name: set.Name, UID: set.UID, ResourceVersion: set.ResourceVersion}
		}
	}
	return nil, Version{}
}

// Sets returns all ApplicationSets, and the orders that parents give.
func (c *Cache) Sets() []*argocd.ApplicationSet {
	var all []*argocd.ApplicationSet
	for _, s := range c.stores {
		for _, object := range s.sets.List() {
			if set, ok := object.(*setProjection); ok {
				all = append(all, set.set)
			}
		}
		parents, _ := s.applications.ByIndex(wavesIndex, wavesIndex) // there is such an index
		for _, object := range parents {
			if p, ok := object.(*argocd.Projection); ok {
				all = append(all, WithSets(c, p.Waves))
			}
		}
	}
	return all
}

// Application returns an Application, by a name that stands for it (argocd.ObjectName), as last watched; nil when none is
// known.
func (c *Cache) Application(name types.NamespacedName) *argocd.Projection {
	for _, s := range c.stores {
		object, _, err := s.applications.GetByKey(argocd.ObjectName(name).String())
		if p, ok := object.(*argocd.Projection); err == nil && ok {
			return p.As(name)
		}
	}
	return nil
}

// Compared reports whether a comparison of an Application was seen after a position.
func (c *Cache) Compared(app types.NamespacedName, position uint64) bool {
	p := c.Application(app)
	return p != nil && c.ComparedSince(p.UID, position)
}

// Requested reports whether a refresh of an Application was seen to be requested after a position.
func (c *Cache) Requested(app types.NamespacedName, position uint64) bool {
	p := c.Application(app)
	return p != nil && c.RequestedSince(p.UID, position)
}
