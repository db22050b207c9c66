package places

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

const (
	// storedWithin is how long after its judgment an API server may still store a write of which nothing is seen: the
	// request ends after a minute (--request-timeout of kube-apiserver), and the clocks of replicas may differ.
	storedWithin = 90 * time.Second
	// renewedAfter is from when on a write that comes again has its place written again, with its time.
	renewedAfter = 5 * time.Second
	// maxTries bounds how often a claim is decided again because another one has come between.
	maxTries = 50
)

// errContended says that others have always been quicker.
var errContended = errors.New("the places of the step are changed all the time")

// Reader reads Applications. siblings.Reader is one.
type Reader interface {
	// Known returns the siblings as last watched, without a read. Callers share the slice.
	Known(set *policy.ApplicationSet) []policy.Sibling
	// Application reads one Application of the ApplicationSet live; nil without an error means that there is none.
	Application(ctx context.Context, set *policy.ApplicationSet, name string) (*argocd.Projection, error)
	// Current returns the live siblings of the steps before step. Of others it may tell name and labels only.
	Current(ctx context.Context, set *policy.ApplicationSet, step int, read *argocd.Projection) ([]policy.Sibling, error)
}

// Store keeps the places of all ApplicationSets. Any number of replicas may have one each on the same objects.
//
// Its invariant is that no more Applications of a step need a place than its maxUpdate says, but for those that were
// let through without one: by a bypass, in audit mode, or past the webhook. A claim reads the object first, then the
// Applications, and then writes the object if it is still the one that it has read. So what it has not seen of the
// Applications was admitted after its read of the object, by a claim that has changed the object, and then this one
// decides again.
type Store struct {
	objects Objects
	reader  Reader
	clock   clock.PassiveClock

	mu sync.Mutex
	// turns let one claim of this replica decide at a time, for each ApplicationSet: others would only make it try again.
	turns map[types.UID]chan struct{}
}

// NewStore returns a Store.
func NewStore(objects Objects, reader Reader, clock clock.PassiveClock) *Store {
	return &Store{objects: objects, reader: reader, clock: clock, turns: map[types.UID]chan struct{}{}}
}

// Take takes a place for a write that the rule allows. It returns nil if the write has one, or needs none, and else the
// places, of which none is free. On an error there is no decision, and the write must not go ahead.
//
// A write that is tried again has its place already, and so has any other operation of an Application that still needs
// its place: it is not one more. maxUpdate counts as the ApplicationSet has it now. If it was lowered, nobody new gets a
// place until enough are free.
func (s *Store) Take(ctx context.Context, c Claim) (full *policy.Places, err error) {
	if !Limited(c.Set, c.Step) {
		return nil, nil
	}
	if neverByItself(c.Set, c.Step) {
		if c.ByHand {
			return nil, nil
		}
		return &policy.Places{}, nil
	}
	turn := s.turn(types.UID(c.Set.UID))
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other claims of ApplicationSet %s: %w", c.Set.Name, ctx.Err())
	}
	defer func() { <-turn }()
	for range maxTries {
		full, err = s.try(ctx, &c)
		if !errors.Is(err, ErrConflict) {
			return full, err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("places of ApplicationSet %s: %w", c.Set.Name, ctx.Err())
		}
	}
	return nil, fmt.Errorf("places of ApplicationSet %s: %w", c.Set.Name, errContended)
}

func (s *Store) turn(set types.UID) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns[set] == nil {
		s.turns[set] = make(chan struct{}, 1)
	}
	return s.turns[set]
}

// try decides once.
func (s *Store) try(ctx context.Context, c *Claim) (full *policy.Places, err error) {
	stored, err := s.objects.Read(ctx, types.UID(c.Set.UID))
	if err != nil {
		return nil, err
	}
	t, err := parse(stored.Text)
	if err != nil {
		return nil, err
	}
	own := t.of(c.Application)
	if own != nil && own.repeats(c, s.clock.Now()) {
		return nil, nil
	}
	if full, err = s.known(ctx, c, &t); err != nil || full != nil {
		return full, err
	}
	l, err := s.live(ctx, c, &t)
	if err != nil {
		return nil, err
	}
	if full = l.places(c.Application); full.Free() == 0 && !l.has {
		return full, nil
	}
	next := t.with(c, l.free, s.clock.Now())
	stored.Text, err = next.text()
	if err != nil {
		return nil, err
	}
	return nil, s.objects.Write(ctx, types.UID(c.Set.UID), stored)
}

// known denies by what is known without a read, if a live read of the first Application that takes a place finds that it
// still does. It returns nil if that settles nothing.
func (s *Store) known(ctx context.Context, c *Claim, t *table) (full *policy.Places, err error) {
	siblings := s.reader.Known(&c.Set.ApplicationSet)
	count := counting{set: &c.Set.ApplicationSet, claim: c}
	for i := range siblings {
		sibling := &siblings[i]
		why, under := c.state(sibling, t)
		if under && sibling.Name == c.Application {
			return nil, nil // it may have a place
		}
		if c.inStep(sibling) && !sibling.Deleting {
			count.size++
		}
		if under {
			count.is(sibling.Application, why)
		}
	}
	if full = count.places(c.Application); full.Free() > 0 {
		return nil, nil
	}
	first := full.Taken[0].Application
	read, err := s.reader.Application(ctx, &c.Set.ApplicationSet, first)
	if err != nil {
		return nil, err
	}
	if read == nil {
		return nil, nil
	}
	placed := c.Set.Place(&read.Application)
	if _, under := c.state(&placed, t); !under {
		return nil, nil
	}
	return full, nil
}

// lives are the places by live reads.
type lives struct {
	counting
	// has says that the target takes a place already, and free are the Applications of the step whose places are not
	// needed any more.
	has  bool
	free map[string]bool
}

// live counts by live reads.
func (s *Store) live(ctx context.Context, c *Claim, t *table) (*lives, error) {
	set := &c.Set.ApplicationSet
	siblings, err := s.reader.Current(ctx, set, c.Step+1, nil)
	if err != nil {
		return nil, err
	}
	l := &lives{counting: counting{set: set, claim: c}, free: map[string]bool{}}
	read := map[string]bool{}
	for i := range siblings {
		sibling := &siblings[i]
		if !sibling.Before(c.Step + 1) {
			continue // it was not read
		}
		read[sibling.Name] = true
		if c.inStep(sibling) && !sibling.Deleting {
			l.size++
		}
		why, under := c.state(sibling, t)
		own := c.placeOf(sibling.Name, t)
		if !under && own != nil {
			if why, under, err = s.settle(ctx, c, own); err != nil {
				return nil, err
			}
			l.free[sibling.Name] = !under
		}
		// The record of the ApplicationSet is from before the read of the object, and so it gives the target no place.
		l.has = l.has || sibling.Name == c.Application && under && (own != nil || why == policy.OperationInProgress)
		if under || c.inStep(sibling) {
			l.is(sibling.Application, why)
		}
	}
	if !read[c.Application] {
		l.size++ // the write creates it
	}
	for i := range t.Places {
		own := &t.Places[i]
		if read[own.Application] || !c.counts(own) {
			continue
		}
		why, under, err := s.settle(ctx, c, own)
		if err != nil {
			return nil, err
		}
		l.free[own.Application], l.has = !under, l.has || under && own.Application == c.Application
		if under {
			l.is(&policy.Application{Name: own.Application}, why)
		}
	}
	return l, nil
}

// settle reads an Application whose state seems not to need its place, and finds out whether its operation may still be
// stored.
func (s *Store) settle(ctx context.Context, c *Claim, own *Place) (why policy.Reason, under bool, err error) {
	p, err := s.reader.Application(ctx, &c.Set.ApplicationSet, own.Application)
	if err != nil {
		return "", false, err
	}
	why, under = own.settled(p, c.Set.Recorded[own.Application], s.clock.Now())
	return why, under, nil
}
