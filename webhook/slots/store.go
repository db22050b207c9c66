// SPDX-License-Identifier: Apache-2.0

package slots

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
	// confirmedWithin is how long a slot is kept whose operation nobody has seen stored. The API server calls the other
	// webhooks and stores the write within milliseconds of the answer. It may take up to a minute (--request-timeout of
	// kube-apiserver), and the clocks of replicas may differ by a second or two: then one more than maxUpdate is under
	// way. The other error would be worse. Whoever reaches the port can make up a write of an Application that exists,
	// and would keep everybody else from its slot for that minute.
	confirmedWithin = 10 * time.Second
	// renewedAfter is from when on a write that comes again has its slot written again, with its time. So no answer is
	// later than that.
	renewedAfter = 2 * time.Second
	// maxTries bounds how often a claim is decided again because another one has come between.
	maxTries = 50
)

var (
	// errContended says that others have always been quicker.
	errContended = errors.New("the slots of the step are changed all the time")
	// errLate says that a slot was written so slowly that its time is not the one of the answer.
	errLate = errors.New("the slot was written too slowly")
)

// Reader reads Applications. cluster.Reader is one.
type Reader interface {
	// Known returns the siblings as last watched, without a read. Callers share the slice.
	Known(set *policy.ApplicationSet) []policy.Sibling
	// Application reads one Application of the ApplicationSet live; nil without an error means that there is none.
	Application(ctx context.Context, set *policy.ApplicationSet, name string) (*argocd.Projection, error)
	// Current returns the live siblings of the steps before step. Of others it may tell name and labels only.
	Current(ctx context.Context, set *policy.ApplicationSet, step int, read *argocd.Projection) ([]policy.Sibling, error)
}

// Store keeps the slots of all ApplicationSets. Any number of replicas may have one each on the same objects.
//
// Its invariant is that no more Applications of a step need a slot than its maxUpdate says, but for those that were
// let through without one: by a bypass, in audit mode, past the webhook, or by the write that creates them. A claim
// reads the object first, then the Applications, and then writes the object if it is still the one that it has read. So
// what it has not seen of the Applications was admitted after its read of the object, by a claim that has changed the
// object, and then this one decides again.
//
// Who calls the webhook need not be an API server. So a slot is kept from others only for an Application that a live
// read shows, at the version that the write names, and only until it is certain whether its operation was stored: see
// confirmedWithin. A write that creates an Application with an operation finds a slot free, or is denied, and keeps it
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

// Take takes a slot for a write that the rule allows. It returns nil if the write has one, or needs none, and else the
// slots, of which none is free. On an error there is no decision, and the write must not go ahead.
//
// A write that is tried again has its slot already, and so has any other operation of an Application that still needs
// its slot: it is not one more. maxUpdate counts as the ApplicationSet has it now. If it was lowered, nobody new gets a
// slot until enough are free.
func (s *Store) Take(ctx context.Context, c Claim) (full *policy.Slots, err error) {
	if !Limited(c.Set, c.Step) {
		return nil, nil
	}
	if neverByItself(c.Set, c.Step) {
		if c.ByHand {
			return nil, nil
		}
		return &policy.Slots{}, nil
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
			return nil, fmt.Errorf("slots of ApplicationSet %s: %w", c.Set.Name, ctx.Err())
		}
	}
	return nil, fmt.Errorf("slots of ApplicationSet %s: %w", c.Set.Name, errContended)
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
func (s *Store) try(ctx context.Context, c *Claim) (full *policy.Slots, err error) {
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
	if full = l.Without(c.Application); full.Free() == 0 && !l.has[c.Application] {
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

// known denies by what is known without a read, if a live read of the first Application that takes a slot finds that it
// still does. It returns nil if that settles nothing.
func (s *Store) known(ctx context.Context, c *Claim, t *table) (full *policy.Slots, err error) {
	counted := byState(c, t, s.reader.Known(&c.Set.ApplicationSet))
	if counted.under[c.Application] {
		return nil, nil // it may have a slot
	}
	if full = counted.underWay(c.Application); full.Free() > 0 {
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
	current := c.Set.Sibling(&read.Application)
	if _, under := c.state(&current, t); !under {
		return nil, nil
	}
	return full, nil
}

// lives are the slots by live reads.
type lives struct {
	*Counted
	// target is the Application of the claim; nil if there is none.
	target *argocd.Projection
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
	var read []policy.Sibling
	creates := true
	for _, sibling := range siblings {
		if sibling.Before(c.Step + 1) { // of others there may be no more than a name
			read = append(read, sibling)
			creates = creates && sibling.Name != c.Application
		}
	}
	counted, err := count(c, t, read, func(own *Slot) (policy.Reason, bool, error) { return s.settle(ctx, c, own) })
	if err != nil {
		return nil, err
	}
	if creates {
		counted.size++
	}
	return &lives{counted, target}, nil
}

// settle reads an Application whose state seems not to need its slot, and finds out whether its operation may still be
// stored.
func (s *Store) settle(ctx context.Context, c *Claim, own *Slot) (why policy.Reason, under bool, err error) {
	p, err := s.reader.Application(ctx, &c.Set.ApplicationSet, own.Application)
	if err != nil {
		return "", false, err
	}
	why, under = own.settled(p, c.Set.Recorded[own.Application], s.clock.Now())
	return why, under, nil
}
