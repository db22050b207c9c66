package siblings

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Observations remember events of the watches that an object does not tell any more. Positions number the events, so
// that two of them have an order whatever the clocks say: the API server gives the events of a resource in the order of
// their writes. A restart forgets them, and a decision is then stricter until they have been seen again.
//
// They also keep the places of the Applications in the steps of their ApplicationSets.
type Observations struct {
	mu       sync.Mutex
	position uint64
	apps     map[types.UID]*observed
	families map[Owner]*family
}

// NewObservations returns Observations of nothing.
func NewObservations() *Observations {
	return &Observations{apps: map[types.UID]*observed{}, families: map[Owner]*family{}}
}

// Observe remembers a Projection that the watch gave.
func (s *Observations) Observe(p *Projection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position++
	o, before := &observed{name: p.Name, changed: s.position, comparedAt: s.position}, s.apps[p.UID]
	if before != nil {
		*o = *before
		o.compare(p, s.position)
	}
	o.compared, o.fingerprint, o.syncStatus, o.reconciledAt = p.Application.Compared, p.Compared, p.Application.SyncStatus, p.Application.ReconciledAt
	o.refresh(&p.Application, s.position)
	o.deploy(p, s.position)
	o.complete(&p.Application)
	o.fail(&p.Application)
	if last := &p.Application.LastOperation; last.Applied {
		o.appliedAt = last.StartedAt
	}
	o.owner = Owner{p.Namespace, p.Owner}
	s.apps[p.UID] = o
	if before != nil && before.owner != o.owner {
		s.disown(before)
	}
	if o.owner.UID != "" {
		s.family(o.owner).put(o, &p.Application)
	}
}

// disown takes an Application from its owner. The caller holds the lock.
func (s *Observations) disown(o *observed) {
	if f := s.families[o.owner]; f != nil {
		f.remove(o)
		s.drop(o.owner)
	}
}

// Observed reports whether an Application was seen.
func (s *Observations) Observed(app types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apps[app] != nil
}

// Forget forgets an Application that is gone.
func (s *Observations) Forget(p *Projection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.apps[p.UID]; o != nil {
		s.disown(o)
		delete(s.apps, p.UID)
	}
}

// Position is the position of the newest event.
func (s *Observations) Position() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

// Changed returns the position at which the change that is pending on an Application was first seen, where it is
// compared with these sources and revisions. Where the watch lags, and has not seen that, it is the newest position.
func (s *Observations) Changed(app types.UID, compared []policy.Source, fingerprint argocd.Fingerprint) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.apps[app]; o != nil && o.comparedWith(compared, fingerprint) {
		return o.changed
	}
	return s.position
}

// ComparedAt returns the position at which the last comparison of an Application was seen, which was at a time. Where the watch
// lags, and has not seen that, it is the newest position. An Application that was never compared has zero.
func (s *Observations) ComparedAt(app types.UID, reconciledAt time.Time) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := s.apps[app]; {
	case reconciledAt.IsZero():
		return 0
	case o != nil && o.reconciledAt.Equal(reconciledAt):
		return o.comparedAt
	}
	return s.position
}

// RequestedSince reports whether a refresh of an Application was seen to be requested after a position.
func (s *Observations) RequestedSince(app types.UID, position uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.apps[app]
	return o != nil && o.lastRequested > position
}

// Deployed reports whether an Application was seen Synced with what it is compared with, and no operation since. Its last operation
// started at operatedAt: where the watch lags, and has not seen that one, it does not tell.
func (s *Observations) Deployed(app types.UID, compared argocd.Fingerprint, operatedAt time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.apps[app]
	return o != nil && o.deployed != 0 && o.deployed == compared && o.operatedAt.Equal(operatedAt)
}

// DeployedTo returns the destination at which an Application was last seen to be deployed. Where that was not seen, it is the
// destination that was last seen; empty when nothing was. An operation that was not seen to have ended may have, and deploys to where
// it began to.
func (s *Observations) DeployedTo(app types.UID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := s.apps[app]; {
	case o == nil:
		return ""
	case o.operating && o.deployedTo != "" && o.deployedTo != o.syncingTo:
		return elsewhere
	case o.operating:
		return o.syncingTo
	default:
		return cmp.Or(o.deployedTo, o.destination)
	}
}

// Seen returns what was seen of the Applications of an Owner until now: whether they are compared since the position of a change and since that
// of a comparison, and all that does not depend on these.
func (s *Observations) Seen(owner Owner, changed, compared uint64) policy.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.families[owner]
	if f == nil {
		return policy.Seen{}
	}
	f.arraysShared, f.namesShared = true, true
	names, all := f.names, f.observed
	return policy.Seen{Of: func(name string) policy.Past {
		if i, is := names[name]; is {
			return all[i].past(changed, compared)
		}
		return policy.Past{}
	}}
}
