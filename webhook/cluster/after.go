// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// after are the names that an object comes after.
func after(object any) ([]string, error) {
	switch o := object.(type) {
	case *argocd.Projection:
		return argocd.IndexAfter(o, o.Annotations), nil
	case *setProjection:
		return argocd.IndexAfter(o, o.set.Annotations), nil
	}
	return nil, nil
}

// alone is the only key of aloneIndex: the Applications of no ApplicationSet that come after others.
const alone = "alone"

func followsAlone(object any) ([]string, error) {
	if p, ok := object.(*argocd.Projection); ok && p.FollowsAlone() {
		return []string{alone}, nil
	}
	return nil, nil
}

// followed tells those that come after one of these names that something of it has changed.
func (c *Cache) followed(names ...types.NamespacedName) {
	for _, s := range c.stores {
		for _, name := range names {
			apps, _ := s.applications.ByIndex(afterIndex, name.String()) // there is such an index
			for _, o := range apps {
				if p, ok := o.(*argocd.Projection); ok {
					c.look(nil, p)
				}
			}
			sets, _ := s.sets.ByIndex(afterIndex, name.String())
			for _, o := range sets {
				if set, ok := o.(*setProjection); ok {
					for _, key := range append(orderOf(set.set), types.NamespacedName{Namespace: set.Namespace, Name: set.Name}) {
						c.changed(key)
					}
				}
			}
		}
	}
}

// Alone returns the Applications of no ApplicationSet that come after others.
func (c *Cache) Alone() []*argocd.Projection {
	var all []*argocd.Projection
	for _, s := range c.stores {
		objects, err := s.applications.ByIndex(aloneIndex, alone)
		if err != nil {
			return nil // there is such an index
		}
		for _, o := range objects {
			if p, ok := o.(*argocd.Projection); ok {
				all = append(all, p)
			}
		}
	}
	return all
}
