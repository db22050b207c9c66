// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/history"
)

// Histories remember events of the watches that an object does not tell any more. Positions number the events, so
// that two of them have an order whatever the clocks say: the API server gives the events of a resource in the order of
// their writes. A restart forgets them, but for what was kept, and a decision is then stricter until they have been seen
// again.
//
// They also keep the steps of the Applications.
type Histories struct {
	clock    clock.PassiveClock
	mu       sync.Mutex
	position uint64
	apps     map[types.UID]*member
	families map[Owner]*family
	// lenders are the ApplicationSets whose Applications count in the order of a parent, and lent are these Applications
	// as members of that.
	lenders map[Owner]*argocd.ApplicationSet
	lent    map[types.UID]*member
	// versions are the resourceVersions up to which the events of the Applications of a namespace were seen. Those of a
	// list come in any order, and do not count.
	versions map[string]string
	// kept is nil unless the Histories resume.
	kept func(p *argocd.Projection) *history.Kept
}

// NewHistories returns Histories of nothing.
func NewHistories(clock clock.PassiveClock) *Histories {
	return &Histories{
		clock: clock, apps: map[types.UID]*member{}, families: map[Owner]*family{}, versions: map[string]string{},
		lenders: map[Owner]*argocd.ApplicationSet{}, lent: map[types.UID]*member{},
	}
}

// Observe remembers a Projection that the watch gave.
func (s *Histories) Observe(p *argocd.Projection) {
	s.observe(p, history.Event{Appeared: s.clock.Now()})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[p.Namespace] = p.ResourceVersion
}

// Listed remembers a Projection of the first list: nobody has seen it appear.
func (s *Histories) Listed(p *argocd.Projection) { s.observe(p, history.Event{}) }

// Trusted remembers a Projection that was read once. What is around its sources is taken for what it was deployed with,
// as it nearly always is.
func (s *Histories) Trusted(p *argocd.Projection) { s.observe(p, history.Event{Trusted: true}) }

func (s *Histories) observe(p *argocd.Projection, e history.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position++
	e.Position, e.At = s.position, s.clock.Now()
	before := s.apps[p.UID]
	if p = p.Member(); before == nil && e.Appeared.IsZero() && s.kept != nil {
		e.Kept = s.kept(p)
	}
	record, respecified := before.known().Next(p, e)
	o := newMember(p, Owner{p.Namespace, p.Owner}, record)
	s.apps[p.UID] = o
	c := change{at: e.At, appeared: e.Appeared, record: before.known(), respecified: respecified}
	s.place(o, before, c)
	s.lendOut(o, c)
}

// change is what has happened to an Application.
type change struct {
	// at is the time of now, and appeared when one has appeared that was not seen before; zero if it may have been there.
	at, appeared time.Time
	// record is what was known before, and respecified is the answer of history.Record.Next.
	record      *history.Record
	respecified bool
}

// place puts an Application into the family of its owner. before is what it was. The caller holds the lock.
func (s *Histories) place(o, before *member, c change) {
	o.relabel(before, c.at)
	adopted := before != nil && before.owner != o.owner
	if adopted {
		s.disown(before)
	}
	if o.owner.UID == "" {
		return
	}
	f := s.family(o.owner)
	from, moved := f.put(o, &o.p.Application)
	o.leave(before, from, moved, c.at)
	if before == nil && !c.appeared.IsZero() {
		o.left, o.leftAt = f.siblings[f.names[o.name]].RecordedStep, c.appeared // it may have been created again
	}
	switch {
	case moved || adopted:
		f.joined = c.at
	case before == nil:
		f.joined = later(f.joined, c.appeared)
	}
	if since, _, _ := o.ContentSince(o.p.Content); c.respecified {
		f.respecified, f.respecifiedAt = later(f.respecified, since), o.version
		if c.record.Around() != o.p.Content.Around {
			f.around = later(f.around, since)
		}
	}
}

// member is an Application that was seen: its record, and where it belongs.
type member struct {
	// p is what was seen. That of a member that is lent is made of the one that was.
	p, of *argocd.Projection
	name  string
	uid   types.UID
	// version is the resourceVersion at which it was last seen.
	version string
	owner   Owner
	*history.Record
	// left is the latest step, 1-based, that it has come from, and leftAt when it last came from one. One that has appeared
	// has come from the recorded one.
	left   int
	leftAt time.Time
	// labels are those that it has, and relabelledAt is when they were last seen to change; zero if they were not.
	labels       map[string]string
	relabelledAt time.Time
}

func newMember(p *argocd.Projection, owner Owner, record *history.Record) *member {
	return &member{
		p: p, name: p.Name, uid: p.UID, version: p.ResourceVersion, owner: owner, Record: record,
		labels: p.Application.Labels,
	}
}

// leave remembers the step that the Application has come from, if it has moved now, beside those that it has left a
// moment ago.
func (o *member) leave(before *member, from int, moved bool, now time.Time) {
	if before != nil && before.owner == o.owner {
		o.left, o.leftAt = before.left, before.leftAt
	}
	if !moved {
		return
	}
	if now.Sub(o.leftAt) >= policy.SettlingTime {
		o.left = 0
	}
	o.left, o.leftAt = max(o.left, from+1), now
}

// relabel notices that the labels are others than before.
func (o *member) relabel(before *member, now time.Time) {
	if before == nil {
		return
	}
	o.relabelledAt = before.relabelledAt
	if !maps.Equal(o.labels, before.labels) {
		o.relabelledAt = now
	}
}

// step is policy.Past.Step of an Application.
func (o *member) step(sibling policy.Sibling, now time.Time) int {
	if now.Sub(o.leftAt) < policy.SettlingTime {
		return max(o.left, sibling.Step+1)
	}
	return sibling.Step + 1
}

// known is the record of an Application; nil if it was not seen.
func (o *member) known() *history.Record {
	if o == nil {
		return nil
	}
	return o.Record
}

// later is the later one of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// disown takes an Application from its owner. The caller holds the lock.
func (s *Histories) disown(o *member) {
	if f := s.families[o.owner]; f != nil {
		f.remove(o)
		s.drop(o.owner)
	}
}

// Known reports whether an Application was seen.
func (s *Histories) Known(app types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apps[app] != nil
}

// Forget forgets an Application that is gone.
func (s *Histories) Forget(p *argocd.Projection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.apps[p.UID]; o != nil {
		s.disown(o)
		delete(s.apps, p.UID)
		s.takeBack(p.UID)
	}
}

// Position is the position of the newest event.
func (s *Histories) Position() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

// record is what is remembered of an Application; nil if it was not seen. The caller holds the lock.
func (s *Histories) record(app types.UID) *history.Record { return s.apps[app].known() }

// Changed returns the position at which the change that is pending on an Application was first seen, where it is
// compared with these sources and revisions. Where the watch lags, and has not seen that, it is the newest position.
func (s *Histories) Changed(app types.UID, compared []policy.Source, fingerprint argocd.Fingerprint) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if position, known := s.record(app).Changed(compared, fingerprint); known {
		return position
	}
	return s.position
}

// ComparedAt returns the position at which the last comparison of an Application was seen, which was at a time. Where
// the watch lags, and has not seen that, it is the newest position. An Application that was never compared has zero.
func (s *Histories) ComparedAt(app types.UID, reconciledAt time.Time) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reconciledAt.IsZero() {
		return 0
	}
	if position, known := s.record(app).ComparedAt(reconciledAt); known {
		return position
	}
	return s.position
}

// ComparedSince reports whether a comparison of an Application was seen after a position.
func (s *Histories) ComparedSince(app types.UID, position uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(app).ComparedSince(position)
}

// RequestedSince reports whether a refresh of an Application was seen to be requested after a position.
func (s *Histories) RequestedSince(app types.UID, position uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(app).RequestedSince(position)
}

// Past is what was seen of one Application, by the position of a change and by that of a comparison.
func (s *Histories) Past(app types.UID, changed, compared uint64) policy.Past {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.record(app); r != nil {
		return r.Past(changed, compared)
	}
	return policy.Past{}
}

// Found is history.Record.Found of an Application.
func (s *Histories) Found(app types.UID, operatedAt time.Time) argocd.Content {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(app).Found(operatedAt)
}

// ContentSince returns since when an Application has had a spec of this content, whether somebody else than its
// ApplicationSet controller has written it, and whether the pass in which that was written has ended. Where the watch
// lags, and has not seen that, it is now, and nobody knows who.
func (s *Histories) ContentSince(app types.UID, content argocd.Content) (since time.Time, byAnother, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.apps[app]
	since, byAnother, known := o.known().ContentSince(content)
	if !known {
		return s.clock.Now(), false, false
	}
	return since, byAnother, s.ended(o)
}

// ended reports whether the ApplicationSet controller has ended the pass in which it has written the spec of an
// Application, and the last of which a sibling has got another one, and whether the watch has seen all that was written
// by then: ApplicationSets are watched by another one.
func (s *Histories) ended(o *member) bool {
	f := s.families[o.owner]
	return f != nil && newer(f.endedAt, o.ContentVersion()) &&
		(f.respecifiedAt == "" || newer(f.endedAt, f.respecifiedAt)) && newer(s.versions[o.owner.Namespace], f.endedAt)
}

// PassEnded notices that all passes of an ApplicationSet's controller have ended that had written Applications before a
// resourceVersion.
func (s *Histories) PassEnded(owner Owner, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.families[owner]; f != nil {
		f.endedAt = version
	}
}

// newer reports whether a resourceVersion is known to be later than another one, be it of an Application or of an
// ApplicationSet: an API server keeps all custom resources in one etcd (--etcd-servers-overrides takes others only), whose
// revisions they are.
func newer(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order > 0
}

// History returns what was seen of the Applications of an ApplicationSet until now: whether they are compared since the
// position of a change and since that of a comparison, and all that does not depend on these. Steps that the watch has
// not seen yet have changed now.
func (s *Histories) History(set *policy.ApplicationSet, changed, compared uint64) policy.History {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.families[OwnerOf(set)]
	if f == nil {
		return policy.History{Joined: s.clock.Now()}
	}
	f.arraysShared, f.namesShared = true, true
	names, all, inSteps, joined, now := f.names, f.members, f.siblings, f.joined, s.clock.Now()
	sameSteps := f.set != nil && f.set.SameSteps(set)
	if f.set != nil && !sameSteps {
		joined = now
	}
	seen := policy.History{Joined: joined, Respecified: f.respecified, AroundSince: f.around}
	seen.Of = func(name string) policy.Past {
		i, ok := names[name]
		if !ok {
			return policy.Past{}
		}
		past := all[i].Past(changed, compared)
		past.Relabelled = !all[i].relabelledAt.IsZero() && now.Sub(all[i].relabelledAt) < policy.SettlingTime
		if sameSteps {
			past.Step = all[i].step(inSteps[i], now)
		}
		return past
	}
	return seen
}
