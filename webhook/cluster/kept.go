// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/history"
)

// Resume has the Histories begin with what was kept of each Application that is in the first list. It is called before the
// first event.
func (s *Histories) Resume(kept func(p *argocd.Projection) *history.Kept) { s.kept = kept }

// Kept is what to keep of an Application.
type Kept struct {
	UID  types.UID
	Name string
	history.Kept
}

// Kept is what to keep of the Applications of an Owner now.
func (s *Histories) Kept(owner Owner) []Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.families[owner]
	if f == nil {
		return nil
	}
	all, now := make([]Kept, 0, len(f.members)), s.clock.Now()
	for _, o := range f.members {
		all = append(all, Kept{UID: o.uid, Name: o.name, Kept: o.Kept(now)})
	}
	return all
}

// Follow adds what another replica has kept of an Application, which is known in this state.
func (s *Histories) Follow(p *argocd.Projection, k *history.Kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.apps[p.UID]
	if o == nil || o.version != p.ResourceVersion {
		return
	}
	next := *o
	next.Record = o.Follow(k, p, s.clock.Now())
	s.apps[p.UID] = &next
	s.families[o.owner].replace(o, &next)
	if lent := s.lent[p.UID]; lent != nil {
		again := *lent
		again.Record = next.Record
		s.lent[p.UID] = &again
		s.families[lent.owner].replace(lent, &again)
	}
}

// Follow adds what another replica has kept of Applications of an ApplicationSet.
func (c *Cache) Follow(set types.UID, all []Kept) {
	kept := make(map[types.UID]*Kept, len(all))
	for i := range all {
		kept[all[i].UID] = &all[i]
	}
	for _, p := range c.Owned(set) {
		if k := kept[p.UID]; k != nil {
			c.Histories.Follow(p, &k.Kept)
		}
	}
}
