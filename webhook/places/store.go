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
	// confirmedWithin is how long a place is kept whose operation nobody has seen stored. The API server calls the other
	// webhooks and stores the write within milliseconds of the answer. It may take up to a minute (--request-timeout of
	// kube-apiserver), and the clocks of replicas may differ by a second or two: then one more than maxUpdate is under
	// way. The other error would be worse. Whoever reaches the port can make up a write of an Application that exists,
	// and would keep everybody else from its place for that minute.
	confirmedWithin = 10 * time.Second
	// renewedAfter is from when on a write that comes again has its place written again, with its time. So no answer is
	// later than that.
	renewedAfter = 2 * time.Second
	// maxTries bounds how often a claim is decided again because another one has come between.
	maxTries = 50
)

var (
	// errContended says that others have always been quicker.
	errContended = errors.New("the places of the step are changed all the time")
	// errLate says that a place was written so slowly that its time is not the one of the answer.
	errLate = errors.New("the place was written too slowly")
)

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
// let through without one: by a bypass, in audit mode, past the webhook, or by the write that creates them. A claim
// reads the object first, then the Applications, and then writes the object if it is still the one that it has read. So
// what it has not seen of the Applications was admitted after its read of the object, by a claim that has changed the
// object, and then this one decides again.
//
// Who calls the webhook need not be an API server. So a place is kept from others only for an Application that a live
// read shows, at the version that the write names, and only until it is certain whether its operation was stored: see
// confirmedWithin. A write that creates an Application with an operation finds a place free, or is denied, and keeps it
// from nobody until the Application is there: of two that are created at once, one may be more than maxUpdate. A write
// that names an older version is never stored: an API server has it judged again.
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
		if !errors.Is(err, ErrConflict) && !errors.Is(err, errLate) {
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
	if !c.isOf(l.target) {
		return nil, nil
	}
	at := s.clock.Now()
	next := t.with(c, l, at)
	stored.Text, err = next.text()
	if err != nil {
		return nil, err
	}
	if err := s.objects.Write(ctx, types.UID(c.Set.UID), stored); err != nil {
		return nil, err
	}
	if s.clock.Since(at) >= renewedAfter {
		return nil, errLate
	}
	return nil, nil
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
	// target is the Application of the claim; nil if there is none.
	target *argocd.Projection
	// has says that the target takes a place already, and free are the Applications of the step whose places are not
	// needed any more.
	has  bool
	free map[string]bool
}

// live counts by live reads.
func (s *Store) live(ctx context.Context, c *Claim, t *table) (*lives, error) {
	set := &c.Set.ApplicationSet
	target, err := s.reader.Application(ctx, set, c.Application)
	if err != nil {
		return nil, err
	}
	siblings, err := s.reader.Current(ctx, set, c.Step+1, target)
	if err != nil {
		return nil, err
	}
	l := &lives{counting: counting{set: set, claim: c}, target: target, free: map[string]bool{}}
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
