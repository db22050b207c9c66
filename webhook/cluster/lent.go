// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// Lend has the Applications of an ApplicationSet count in the order of its parent, if they do (argocd.ApplicationSet's
// Counts), and not in another one any more. listed says that nobody has seen that begin.
func (s *Histories) Lend(set *argocd.ApplicationSet, listed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, now := OwnerOf(&set.ApplicationSet), s.clock.Now()
	before := s.lenders[owner]
	if before == nil && set.Counts() == nil {
		return
	}
	if before != nil && reflect.DeepEqual(before.Child, set.Counts()) &&
		reflect.DeepEqual(before.Annotations, set.Annotations) {
		return
	}
	c := change{at: now, appeared: now}
	if listed {
		c.appeared = time.Time{}
	}
	if delete(s.lenders, owner); set.Counts() != nil {
		s.lenders[owner] = set
	}
	s.lendAll(owner, c)
}

// Unlend says that an ApplicationSet is gone.
func (s *Histories) Unlend(set *argocd.ApplicationSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := OwnerOf(&set.ApplicationSet)
	if s.lenders[owner] != nil {
		delete(s.lenders, owner)
		s.lendAll(owner, change{at: s.clock.Now()})
	}
}

// lendAll lends all Applications of an owner anew. The caller holds the lock.
func (s *Histories) lendAll(owner Owner, c change) {
	if f := s.families[owner]; f != nil {
		for _, o := range f.members {
			s.lendOut(o, c)
		}
	}
}

// lendOut has an Application be a member of the order of its ApplicationSet's parent, or not any more. The caller holds
// the lock.
func (s *Histories) lendOut(o *member, c change) {
	lender := s.lenders[o.owner]
	if lender == nil {
		s.takeBack(o.uid)
		return
	}
	lent := newMember(lender.Lend(o.p), Owner{o.owner.Namespace, lender.Child.Owner}, o.Record)
	lent.of = o.p
	before := s.lent[o.uid]
	s.lent[o.uid] = lent
	s.place(lent, before, c)
}

// takeBack has an Application be lent to nobody. The caller holds the lock.
func (s *Histories) takeBack(app types.UID) {
	if lent := s.lent[app]; lent != nil {
		s.disown(lent)
		delete(s.lent, app)
	}
}

// lender is the ApplicationSet that lends the Applications of an owner; nil if none does.
func (s *Histories) lender(owner Owner) *argocd.ApplicationSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lenders[owner]
}

// Lenders are the known ApplicationSets whose Applications are members of an order.
func (s *Histories) Lenders(order types.UID) (all []*argocd.ApplicationSet) {
	if !argocd.IsOrder(order) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, set := range s.lenders {
		if set.Lends(order) {
			all = append(all, set)
		}
	}
	return all
}

// Lent are Applications of an ApplicationSet as members of the order of its parent. An owner reference means nothing in
// another namespace. Those that were observed last, and lent alike, are the same each time.
func (s *Histories) Lent(set *argocd.ApplicationSet, apps []*argocd.Projection) (all []*argocd.Projection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range apps {
		lent := s.lent[p.UID]
		switch {
		case p.Namespace != set.Namespace:
		case lent != nil && lent.of == p && *lent.p.Lender.Child == *set.Child:
			all = append(all, lent.p)
		default:
			all = append(all, set.Lend(p))
		}
	}
	return all
}
