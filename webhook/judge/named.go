// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Named is what there is of a name: an ApplicationSet, an Application, or one of each.
type Named struct {
	// Set is nil if there is none, and Members are its Applications. Where the name is only that of a parent Application,
	// Set is the order of its children.
	Set     *argocd.ApplicationSet
	Members []*argocd.Projection
	// Own is the Application of the name; nil if there is none.
	Own *argocd.Projection
}

// Named reads live what there is of a name.
func (e *LiveEvaluator) Named(ctx context.Context, name types.NamespacedName) (n Named, err error) {
	group, reads := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		n.Own, err = cluster.Recovered(func() (*argocd.Projection, error) { return e.reader.Alone(reads, name) })
		return err
	})
	group.Go(func() (err error) {
		_, err = cluster.Recovered(func() (none any, err error) { return none, e.readSet(reads, name, &n) })
		return err
	})
	if err := group.Wait(); err != nil {
		return Named{}, err
	}
	if order, is := n.order(); is {
		err = e.readSet(ctx, order, &n)
	}
	return n, err
}

// readSet reads an ApplicationSet, or the order that a parent gives, with its members.
func (e *LiveEvaluator) readSet(ctx context.Context, name types.NamespacedName, n *Named) (err error) {
	if n.Set, err = e.reader.ApplicationSet(ctx, name); err != nil || n.Set == nil {
		return err
	}
	n.Members, err = e.reader.Members(ctx, &n.Set.ApplicationSet)
	return err
}

// order is the name of the order that counts as the ApplicationSet of a name, if one does.
func (n *Named) order() (name types.NamespacedName, is bool) {
	if n.Set != nil || n.Own == nil || n.Own.Waves == nil {
		return name, false
	}
	return types.NamespacedName{Namespace: n.Own.Namespace, Name: n.Own.Waves.Name}, true
}

// NamedKnown is what is known of a name without a read.
func NamedKnown(known KnownSets, name types.NamespacedName) (n Named) {
	n.Own = known.Application(name)
	n.Set, _ = known.Set(name)
	if order, is := n.order(); is {
		n.Set, _ = known.Set(order)
	}
	if n.Set != nil {
		n.Members = known.Owned(types.UID(n.Set.UID))
	}
	return n
}

// Dependency is what there is of a name as the rule takes it. parser reads whom its ApplicationSet excludes, and past is
// what was seen of an Application.
func (n *Named) Dependency(
	name types.NamespacedName, parser *settings.Parser, past func(*argocd.Projection) policy.Past,
) policy.Dependency {
	seen := map[*policy.Application]policy.Past{}
	dep := policy.Dependency{
		Namespace: name.Namespace, Name: name.Name, Past: func(a *policy.Application) policy.Past { return seen[a] },
	}
	of := func(p *argocd.Projection) *policy.Application {
		seen[&p.Application] = past(p)
		return &p.Application
	}
	if n.Own != nil {
		dep.Own = of(n.Own)
	}
	if n.Set != nil {
		dep.Set, dep.Excluded = &n.Set.ApplicationSet, parser.Of(n.Set).Excluded
		for _, p := range n.Members {
			dep.Members = append(dep.Members, of(p))
		}
	}
	return dep
}

// Objects are ApplicationSets and Applications that were read once.
type Objects struct {
	sets  map[types.NamespacedName]*argocd.ApplicationSet
	apps  map[types.NamespacedName]*argocd.Projection
	owned map[types.UID][]*argocd.Projection
	// lenders are, by an order, the ApplicationSets whose Applications may be members of it.
	lenders map[types.UID][]types.NamespacedName
}

var _ KnownSets = (*Objects)(nil)

// NewObjects returns Objects without any.
func NewObjects() *Objects {
	return &Objects{
		sets: map[types.NamespacedName]*argocd.ApplicationSet{}, apps: map[types.NamespacedName]*argocd.Projection{},
		owned: map[types.UID][]*argocd.Projection{}, lenders: map[types.UID][]types.NamespacedName{},
	}
}

// AddSet adds an ApplicationSet, or replaces the one of its name.
func (o *Objects) AddSet(set *argocd.ApplicationSet) {
	name := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
	o.sets[name] = set
	if child := set.Counts(); child != nil && !slices.Contains(o.lenders[child.Owner], name) {
		o.lenders[child.Owner] = append(o.lenders[child.Owner], name)
	}
}

// AddApplication adds an Application, and reports whether there was none of its name yet.
func (o *Objects) AddApplication(p *argocd.Projection) (added bool) {
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if o.apps[name] != nil {
		return false
	}
	o.apps[name] = p
	if m := p.Member(); m.Owner != "" {
		o.owned[m.Owner] = append(o.owned[m.Owner], m)
	}
	if p.FollowsAlone() { // it has the form of an ApplicationSet
		o.owned[p.UID] = append(o.owned[p.UID], p)
	}
	if p.Waves != nil {
		o.AddSet(p.Waves)
	}
	return true
}

// Set implements KnownSets. It has no Version.
func (o *Objects) Set(name types.NamespacedName) (*argocd.ApplicationSet, cluster.Version) {
	return cluster.WithSets(o, o.sets[name]), cluster.Version{}
}

// Owned implements KnownSets.
func (o *Objects) Owned(owner types.UID) []*argocd.Projection {
	if !argocd.IsOrder(owner) {
		return o.owned[owner]
	}
	all := cluster.Members(o, owner, slices.Clone(o.owned[owner]))
	for _, name := range o.lenders[owner] {
		if set := o.sets[name]; set.Lends(owner) {
			for _, p := range o.owned[types.UID(set.UID)] {
				all = append(all, set.Lend(p))
			}
		}
	}
	return all
}

// Application implements KnownSets.
func (o *Objects) Application(name types.NamespacedName) *argocd.Projection {
	if p := o.apps[argocd.ObjectName(name)]; p != nil {
		return p.As(name)
	}
	return nil
}

// Alone are the Applications of no ApplicationSet that come after others.
func (o *Objects) Alone() []*argocd.Projection {
	var all []*argocd.Projection
	for _, p := range o.apps {
		if p.FollowsAlone() {
			all = append(all, p)
		}
	}
	return all
}

// Sets are all ApplicationSets, by namespace and name.
func (o *Objects) Sets() []*argocd.ApplicationSet {
	all := slices.SortedFunc(maps.Values(o.sets), func(a, b *argocd.ApplicationSet) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for i, set := range all {
		all[i] = cluster.WithSets(o, set)
	}
	return all
}
