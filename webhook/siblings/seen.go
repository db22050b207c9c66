package siblings

import (
	"cmp"
	"reflect"
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
	now      func() time.Time
	mu       sync.Mutex
	position uint64
	apps     map[types.UID]*observed
	families map[Owner]*family
}

// NewObservations returns Observations of nothing.
func NewObservations(now func() time.Time) *Observations {
	return &Observations{now: now, apps: map[types.UID]*observed{}, families: map[Owner]*family{}}
}

// Observe remembers a Projection that the watch gave.
func (s *Observations) Observe(p *Projection) { s.observe(p, s.now(), "") }

// Listed remembers a Projection of the first list: nobody has seen it appear.
func (s *Observations) Listed(p *Projection) { s.observe(p, time.Time{}, "") }

// Trusted remembers a Projection that was read once. What is around its sources is taken for what it was deployed with, as it nearly always is.
func (s *Observations) Trusted(p *Projection) { s.observe(p, time.Time{}, p.Around) }

// observe remembers a Projection. Of one that was not seen before, appeared is when it has appeared, zero if it may have been there before, and
// with is what was around its sources when it was deployed; empty if that is not known.
func (s *Observations) observe(p *Projection, appeared time.Time, with string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position++
	o := &observed{name: p.Name, changed: s.position, comparedAt: s.position, first: p.Around, deployedWith: with}
	before := s.apps[p.UID]
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
	news := o.specify(p, appeared, s.now())
	o.owner = Owner{p.Namespace, p.Owner}
	s.apps[p.UID] = o
	if before != nil && before.owner != o.owner {
		s.disown(before)
		appeared = s.now()
	}
	if o.owner.UID == "" {
		return
	}
	f := s.family(o.owner)
	if before == nil || before.owner != o.owner {
		f.joined = later(f.joined, appeared)
	}
	if news {
		f.respecified = later(f.respecified, o.contentSince)
	}
	if f.put(o, &p.Application) {
		f.joined = s.now()
	}
}

// later is the later one of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
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

// DeployedWith returns what was around the sources of an Application when it was last seen to be deployed. Where that was not seen, known is
// false, and it is what was first seen to be around them; empty when nothing was seen. An operation that was not seen to have ended may
// have, and deploys by what was there when it began.
func (s *Observations) DeployedWith(app types.UID) (around string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := s.apps[app]; {
	case o == nil:
		return "", false
	case o.operating && o.deployedWith != "" && o.deployedWith != o.syncingWith:
		return otherwise, true
	case o.operating && o.syncingWith != otherwise:
		return o.syncingWith, o.deployedWith != ""
	default:
		return cmp.Or(o.deployedWith, o.first), o.deployedWith != ""
	}
}

// ContentSince returns since when an Application has had a spec of this content. Where the watch lags, and has not seen that, it is now.
func (s *Observations) ContentSince(app types.UID, content argocd.Fingerprint) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.apps[app]; o != nil && o.content == content {
		return o.contentSince
	}
	return s.now()
}

// Seen returns what was seen of the Applications of an ApplicationSet until now: whether they are compared since the position of a change and
// since that of a comparison, and all that does not depend on these. Steps that the watch has not seen yet have changed now.
func (s *Observations) Seen(set *policy.ApplicationSet, changed, compared uint64) policy.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.families[OwnerOf(set)]
	if f == nil {
		return policy.Seen{Joined: s.now()}
	}
	f.arraysShared, f.namesShared = true, true
	names, all, joined := f.names, f.observed, f.joined
	if f.set != nil && !reflect.DeepEqual(f.set.Steps, set.Steps) {
		joined = s.now()
	}
	return policy.Seen{Joined: joined, Respecified: f.respecified, Of: func(name string) policy.Past {
		if i, is := names[name]; is {
			return all[i].past(changed, compared)
		}
		return policy.Past{}
	}}
}
