// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Known gives the Applications of an ApplicationSet as last watched or read.
type Known interface {
	Owned(set types.UID) []*argocd.Projection
}

// Texts give what the object of an ApplicationSet holds, as it was read a moment ago; empty if there is none.
type Texts interface {
	Text(set types.UID) (string, error)
}

// View tells who has the slots of steps, and takes none. It answers as a Store would that finds everything as the View
// knows it. Where the objects cannot be read, it goes by the state of the Applications alone, as somebody who waits for
// a slot does: it then misses the slots that only an object knows of.
type View struct {
	known Known
	texts Texts
	clock clock.PassiveClock
}

// NewView returns a View. texts may be nil: then no object is read.
func NewView(known Known, texts Texts, clock clock.PassiveClock) *View {
	return &View{known: known, texts: texts, clock: clock}
}

// Take says what Store.Take would, and takes nothing.
func (v *View) Take(_ context.Context, c Claim) (full *policy.Slots, err error) {
	if full := v.Look(c.Set, v.known.Owned(types.UID(c.Set.UID))).Slots(&c); full != nil && full.Free() == 0 {
		return full, nil
	}
	return nil, nil
}

// Look looks at the slots of an ApplicationSet, of which these are the Applications.
func (v *View) Look(set *argocd.ApplicationSet, owned []*argocd.Projection) *Seen {
	s := &Seen{set: set, now: v.clock, apps: map[string]*argocd.Projection{}, counts: map[counted]*counts{}}
	for _, p := range owned {
		s.siblings = append(s.siblings, set.Sibling(&p.Application))
		s.apps[p.Name] = p
	}
	if t, err := v.table(set); err == nil {
		s.table = t
	}
	return s
}

// Problem is why the object of an ApplicationSet that has a maxUpdate cannot be read; nil if it can, or nobody tries.
func (v *View) Problem(set *argocd.ApplicationSet) error {
	limited := func(step int) bool { return Limited(set, step) && !neverByItself(set, step) }
	for step := range set.MaxUpdate {
		if limited(step) {
			_, err := v.table(set)
			return err
		}
	}
	return nil
}

// table is the one of an ApplicationSet; nil if no object is read.
func (v *View) table(set *argocd.ApplicationSet) (*table, error) {
	if v.texts == nil {
		return nil, nil
	}
	text, err := v.texts.Text(types.UID(set.UID))
	if err != nil {
		return nil, err
	}
	t, err := parse(text)
	return &t, err
}

// Seen is what a View has seen of one ApplicationSet.
type Seen struct {
	set      *argocd.ApplicationSet
	siblings []policy.Sibling
	// apps are the Applications by name.
	apps map[string]*argocd.Projection
	// table is nil if it is not known.
	table  *table
	now    clock.PassiveClock
	counts map[counted]*counts
}

// counted are the Applications among which slots are counted.
type counted struct {
	step          int
	tracks, track string
	moved         bool
}

// counts are the slots of these: byState are those that are taken by what the Applications show, and all are also those
// of writes that may still be stored.
type counts struct{ byState, all *Counted }

// Slots are those of which a claim may take one; nil if it has one or needs none.
func (s *Seen) Slots(c *Claim) *policy.Slots {
	switch {
	case !Limited(s.set, c.Step) || neverByItself(s.set, c.Step) && c.ByHand:
		return nil
	case neverByItself(s.set, c.Step):
		return &policy.Slots{}
	}
	if s.table != nil {
		if own := s.table.of(c.Application); own != nil && own.repeats(c, s.now.Now()) {
			return nil
		}
	}
	n := s.count(c)
	if full := n.byState.underWay(c.Application); full.Free() == 0 && !n.byState.under[c.Application] {
		return full
	}
	if n.all.has[c.Application] {
		return nil
	}
	return n.all.Without(c.Application)
}

// count counts once for all claims of a step and a track.
func (s *Seen) count(c *Claim) *counts {
	key := counted{c.Step, c.Tracks, c.Track, c.Moved}
	n := s.counts[key]
	if n == nil {
		claim := *c
		n = &counts{byState: byState(&claim, s.table, s.siblings)}
		n.all, _ = count(&claim, s.table, s.siblings, func(own *Slot) (policy.Reason, bool, error) {
			why, under := own.settled(s.apps[own.Application], s.set.Recorded[own.Application], s.now.Now())
			return why, under, nil
		})
		s.counts[key] = n
	}
	return n
}
