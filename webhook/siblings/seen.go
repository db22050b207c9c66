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
type Observations struct {
	mu       sync.Mutex
	position uint64
	apps     map[types.UID]*observed
	owned    map[types.UID]map[types.UID]*observed // by owner
}

// NewObservations returns Observations of nothing.
func NewObservations() *Observations {
	return &Observations{apps: map[types.UID]*observed{}, owned: map[types.UID]map[types.UID]*observed{}}
}

// Observe remembers a Projection that the watch gave.
func (s *Observations) Observe(p *Projection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position++
	o := s.apps[p.UID]
	if o == nil {
		o = &observed{name: p.Name, changed: s.position, comparedAt: s.position}
		s.apps[p.UID] = o
	} else {
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
	s.own(p.UID, o, p.Owner)
}

// Observed reports whether an Application was seen.
func (s *Observations) Observed(app types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apps[app] != nil
}

// own keeps the index by owner. The caller holds the lock.
func (s *Observations) own(uid types.UID, o *observed, owner types.UID) {
	if o.owner != owner {
		s.disown(uid, o)
	}
	o.owner = owner
	if owner == "" {
		return
	}
	if s.owned[owner] == nil {
		s.owned[owner] = map[types.UID]*observed{}
	}
	s.owned[owner][uid] = o
}

func (s *Observations) disown(uid types.UID, o *observed) {
	delete(s.owned[o.owner], uid)
	if len(s.owned[o.owner]) == 0 {
		delete(s.owned, o.owner)
	}
}

// Forget forgets an Application that is gone.
func (s *Observations) Forget(p *Projection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.apps[p.UID]; o != nil {
		s.disown(p.UID, o)
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

// Seen returns what was seen of the Applications that an ApplicationSet controls: which of them are compared since the position
// of a change and since that of a comparison, and which have got another destination.
func (s *Observations) Seen(owner types.UID, changed, compared uint64) policy.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := policy.Seen{
		Fresh: map[string]bool{}, Later: map[string]bool{}, Moved: map[string]bool{}, Completed: make(map[string][]policy.Source, len(s.owned[owner])), Synced: map[string]policy.Synced{},
		Applied: map[string]time.Time{}, Failed: map[string][]policy.Source{},
	}
	for _, o := range s.owned[owner] {
		if o.fresh > changed {
			seen.Fresh[o.name] = true
		}
		if o.fresh > max(changed, compared) {
			seen.Later[o.name] = true
		}
		if len(o.completed) > 0 {
			seen.Completed[o.name] = o.completed
		}
		if o.syncStatus == "OutOfSync" && o.deployed != 0 && o.deployed == o.fingerprint {
			seen.Synced[o.name] = policy.Synced{Compared: o.compared, OperatedAt: o.operatedAt}
		}
		if len(o.failed) > 0 {
			seen.Failed[o.name] = o.failed
		}
		if !o.appliedAt.IsZero() {
			seen.Applied[o.name] = o.appliedAt
		}
		if o.deployedTo != "" && o.deployedTo != o.destination {
			seen.Moved[o.name] = true
		}
	}
	return seen
}
