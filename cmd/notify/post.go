// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/argoproj/notifications-engine/pkg/services"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// mostAtOnce is how many messages are given to one service at a time.
	mostAtOnce = 8
	// sendTime is how long a service may take before the message counts as one that may have arrived. The engine cannot
	// end a call.
	sendTime = 30 * time.Second
	// endTime is for how long a Notifier that ends waits for what it is sending.
	endTime = 5 * time.Second
	// firstWait and maxWait are how long a message that has failed waits before it is tried again.
	firstWait, maxWait = 30 * time.Second, 30 * time.Minute
)

// message names a message: of an ApplicationSet, the note.
type message struct {
	set  types.UID
	note string
}

// parcel is a message that is due. It can be sent when it has a text and a service.
type parcel struct {
	message
	about
	to        services.Destination
	templates []string
	text      *services.Notification
	service   services.NotificationService
}

// result is what has become of a parcel.
type result struct {
	parcel
	err error
}

// try is a message that has failed.
type try struct {
	next time.Time
	wait time.Duration
	// owed says that the note of it stands, although it was not sent.
	owed bool
}

// post is what is being sent.
type post struct {
	clock   clock.PassiveClock
	results chan result
	// flying are the messages that are being sent, since when, and by which service; late are those that take too long.
	flying map[message]flight
	// queued are the ApplicationSets of which a message has found its service busy.
	queued map[types.UID]bool
}

type flight struct {
	parcel
	since time.Time
	late  bool
}

func newPost(c clock.PassiveClock) *post {
	return &post{clock: c, results: make(chan result), flying: map[message]flight{}, queued: map[types.UID]bool{}}
}

// free reports whether a service has room for so many messages more.
func (p *post) free(service string, more int) bool {
	for _, f := range p.flying {
		if f.to.Service == service {
			more++
		}
	}
	return more < mostAtOnce
}

// sending reports whether a message is being sent.
func (p *post) sending(m message) bool {
	_, is := p.flying[m]
	return is
}

// start sends a parcel in a goroutine of its own: how long a service takes is not known.
func (p *post) start(parcel parcel) {
	p.flying[parcel.message] = flight{parcel: parcel, since: p.clock.Now()}
	go func() { p.results <- result{parcel, safely(parcel)} }()
}

// safely sends a parcel. A panic of a service is an error.
func safely(p parcel) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return p.service.Send(*p.text, p.to)
}

// late counts what takes too long, once. It may still arrive, and its note stays until the service reports an error.
func (p *post) late(n *Notifier) {
	for m, f := range p.flying {
		if !f.late && p.clock.Since(f.since) > sendTime {
			f.late = true
			p.flying[m] = f
			n.Observer.NotificationDone(f.trigger, n.serviceLabel(f.to.Service), "late")
		}
	}
}

// pack makes parcels ready: those that can be sent now. A parcel that its service or the notes have no room for is not
// written, so that what a look costs is bounded by what it sends.
func (n *Notifier) pack(ctx context.Context, c change, due []parcel, vars map[string]any) (ready []parcel) {
	due = slices.DeleteFunc(due, func(p parcel) bool { return n.post.sending(p.message) || n.triedLately(p.message) })
	due = n.withService(ctx, due)
	if len(due) == 0 {
		return nil
	}
	room, busy := n.state.room(c, len(n.Known.Sets())), map[string]int{}
	for _, p := range due {
		service := p.to.Service
		if !n.post.free(service, busy[service]) {
			n.post.queued[c.set] = true
			continue
		}
		if room == 0 {
			n.problem(ctx, p.about, "no-room", errNoRoom)
			break
		}
		busy[service]++
		room--
		if n.write(ctx, &p, vars) {
			ready = append(ready, p)
		}
	}
	return ready
}

// withService returns those whose service exists.
func (n *Notifier) withService(ctx context.Context, due []parcel) (can []parcel) {
	var of about
	var unknown []string
	for _, p := range due {
		if p.service = n.settings.services[p.to.Service]; p.service != nil {
			can = append(can, p)
		} else if !slices.Contains(unknown, p.to.Service) {
			of, unknown = p.about, append(unknown, p.to.Service)
		}
	}
	if len(unknown) > 0 {
		n.problem(ctx, of, "no-service", fmt.Errorf("%s has no service %s", ConfigMapName, quoted(unknown)))
	}
	return can
}

// write writes the text of a parcel by templates.
func (n *Notifier) write(ctx context.Context, p *parcel, vars map[string]any) bool {
	all := maps.Clone(vars)
	all["serviceType"], all["recipient"] = p.to.Service, p.to.Recipient
	var err error
	if p.text, err = n.settings.format(all, p.templates); err != nil {
		n.problem(ctx, p.about, "bad-template", fmt.Errorf("trigger %q: %w", p.trigger, err))
		n.delay(p.message)
		return false
	}
	return true
}

// triedLately reports whether a message has failed, and is not to be tried again yet.
func (n *Notifier) triedLately(m message) bool {
	t := n.tries[m]
	return t != nil && n.Clock.Now().Before(t.next)
}

// delay has a message tried again later: each time after twice as long.
func (n *Notifier) delay(m message) *try {
	t := n.tries[m]
	if t == nil {
		t = &try{}
		n.tries[m] = t
	}
	t.wait = min(maxWait, max(firstWait, 2*t.wait))
	t.next = n.Clock.Now().Add(t.wait)
	return t
}

// send writes down that parcels are sent, and sends them.
func (n *Notifier) send(ctx context.Context, c change, ready []parcel) {
	for _, p := range ready {
		c.add = append(c.add, p.note)
	}
	if len(c.add)+len(c.remove) == 0 {
		return
	}
	noted, err := n.note(ctx, c)
	if err != nil {
		n.problem(ctx, about{}, "state", err)
		return
	}
	for _, p := range ready {
		if slices.Contains(noted, p.note) {
			n.post.start(p)
		}
	}
}

// note changes the state, and returns the notes that it has added: those that nobody else has added before, and that there
// is room for.
func (n *Notifier) note(ctx context.Context, c change) (added []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for range mostTries {
		now := c
		now.add = slices.DeleteFunc(slices.Clone(c.add), func(note string) bool { return n.state.has(c.set, note) })
		now.remove = slices.DeleteFunc(slices.Clone(c.remove), func(note string) bool { return !n.state.has(c.set, note) })
		if len(now.add)+len(now.remove) == 0 {
			return nil, nil
		}
		there := map[types.UID]bool{}
		for _, set := range n.Known.Sets() {
			there[types.UID(set.UID)] = true
		}
		next, added := n.state.with(now, there, n.Clock.Now())
		data, err := next.data()
		if err != nil {
			return nil, err
		}
		version, err := n.Store.Write(ctx, data, n.version)
		if err == nil {
			n.state, n.version = next, version
			return added, nil
		}
		if !errors.Is(err, ErrConflict) {
			n.stateAt = time.Time{} // it is not known whether it was written
			return nil, err
		}
		if err := n.reread(ctx); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the ConfigMap of notifications is changed all the time: %w", ErrConflict)
}

// settle takes the note of a message back that was not sent.
func (n *Notifier) settle(ctx context.Context, r result) {
	delete(n.post.flying, r.message)
	service := n.serviceLabel(r.to.Service)
	var never *services.TooManyGitHubCommitStatusesError
	switch {
	case r.err == nil:
		delete(n.tries, r.message)
		n.Observer.NotificationDone(r.trigger, service, "sent")
	case errors.As(r.err, &never): // the engine, too, does not try this again
		n.problem(ctx, r.about, "failed", r.err)
	default:
		n.problem(ctx, r.about, "failed", fmt.Errorf("service %q: %w", r.to.Service, r.err))
		n.delay(r.message).owed = true
		n.takeBack(ctx)
	}
}

// takeBack removes the notes of messages that were not sent.
func (n *Notifier) takeBack(ctx context.Context) {
	for m, t := range n.tries {
		if !t.owed {
			continue
		}
		name := ""
		if of := n.state[m.set]; of != nil {
			name = of.Set
		}
		if _, err := n.note(ctx, change{set: m.set, name: name, remove: []string{m.note}}); err != nil {
			n.problem(ctx, about{}, "state", err)
			return
		}
		t.owed = false
	}
}
