package cluster

import (
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/history"
	"k8s.io/apimachinery/pkg/types"
)

// Resume has the Histories begin with what was kept of each Application that is in the first list. It is called before the
// first event.
func (s *Histories) Resume(kept func(p *argocd.Projection) *history.Kept) { s.kept = kept }

// Kept is what to keep of the Applications of an Owner now, by their UIDs.
func (s *Histories) Kept(owner Owner) map[types.UID]history.Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.families[owner]
	if f == nil {
		return nil
	}
	all, now := make(map[types.UID]history.Kept, len(f.members)), s.clock.Now()
	for _, o := range f.members {
		all[o.uid] = o.Record.Kept(now)
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
	next.Record = o.Record.Follow(k, p, s.clock.Now())
	s.apps[p.UID] = &next
	if f := s.families[o.owner]; f != nil {
		f.replace(o, &next)
	}
}
