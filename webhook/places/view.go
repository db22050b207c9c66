package places

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

// View tells who has the places of steps, and takes none. It answers as a Store would that finds everything as the View
// knows it. Where the objects cannot be read, it goes by the state of the Applications alone, as somebody who waits for
// a place does: it then misses the places that only an object knows of.
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
func (v *View) Take(_ context.Context, c Claim) (full *policy.Places, err error) {
	if full := v.Look(c.Set, v.known.Owned(types.UID(c.Set.UID))).Places(&c); full != nil && full.Free() == 0 {
		return full, nil
	}
	return nil, nil
}

// Look looks at the places of an ApplicationSet, of which these are the Applications.
func (v *View) Look(set *argocd.ApplicationSet, owned []*argocd.Projection) *Sight {
	s := &Sight{set: set, now: v.clock, apps: map[string]*argocd.Projection{}, counts: map[counted]*counts{}}
	for _, p := range owned {
		s.siblings = append(s.siblings, set.Place(&p.Application))
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

// Sight is what a View has seen of one ApplicationSet.
type Sight struct {
	set      *argocd.ApplicationSet
	siblings []policy.Sibling
	// apps are the Applications by name.
	apps map[string]*argocd.Projection
	// table is nil if it is not known.
	table  *table
	now    clock.PassiveClock
	counts map[counted]*counts
}

// counted are the Applications among which places are counted.
type counted struct {
	step          int
	tracks, track string
	moved         bool
}

// counts are the places of these.
type counts struct {
	// byState are those that are taken by what the Applications show, and all are also those of writes that may still be
	// stored.
	byState, all counting
	// under are the Applications that take a place by what they show, and has those that have one.
	under, has map[string]bool
}

// Places are those of which a claim may take one; nil if it has one or needs none.
func (s *Sight) Places(c *Claim) *policy.Places {
	switch {
	case !Limited(s.set, c.Step) || neverByItself(s.set, c.Step) && c.ByHand:
		return nil
	case neverByItself(s.set, c.Step):
		return &policy.Places{}
	}
	if s.table != nil {
		if own := s.table.of(c.Application); own != nil && own.repeats(c, s.now.Now()) {
			return nil
		}
	}
	n := s.count(c)
	if full := n.byState.places(c.Application); full.Free() == 0 && !n.under[c.Application] {
		return full
	}
	if n.has[c.Application] {
		return nil
	}
	return n.all.places(c.Application)
}

// count counts once for all claims of a step and a track.
func (s *Sight) count(c *Claim) *counts {
	key := counted{c.Step, c.Tracks, c.Track, c.Moved}
	n := s.counts[key]
	if n == nil {
		claim := *c
		count := counting{set: &s.set.ApplicationSet, claim: &claim}
		n = &counts{byState: count, all: count, under: map[string]bool{}, has: map[string]bool{}}
		for i := range s.siblings {
			s.add(n, &claim, &s.siblings[i])
		}
		s.counts[key] = n
	}
	return n
}

// add counts an Application.
func (s *Sight) add(n *counts, c *Claim, sibling *policy.Sibling) {
	t := s.table
	if t == nil {
		t = &table{}
	}
	own, in := c.placeOf(sibling.Name, t), c.inStep(sibling)
	if own == nil && !in {
		return
	}
	if in && !sibling.Deleting {
		n.byState.size++
		n.all.size++
	}
	why, under := c.state(sibling, t)
	if !under && s.table == nil && !sibling.Deleting && !compared(sibling.Application, true) {
		why, under = policy.NotCompleted, true // it may have a place
	}
	if under {
		n.under[sibling.Name] = true
		n.has[sibling.Name] = own != nil || why == policy.OperationInProgress
	}
	if under {
		n.byState.is(sibling.Application, why)
	}
	if !under && own != nil {
		why, under = own.settled(s.apps[sibling.Name], s.set.Recorded[sibling.Name], s.now.Now())
		n.has[sibling.Name] = under
	}
	if under || in {
		n.all.is(sibling.Application, why)
	}
}
