// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// firstBody is how much memory a body has before its first byte.
	firstBody = 4 << 10
	// freeBody is how much of a body is read without a reservation. The limit of connections bounds it.
	freeBody = 16 << 10
	// usualBody has room for the request of an object of usual size, old and new.
	usualBody = 64 << 10
	// usualBudget is for bodies that are announced to be shorter than usualBody, and largeBudget for others: for what
	// they have beyond freeBody, in bytes. One large body more has room beside these, whatever its size.
	usualBudget = 6 << 20
	largeBudget = 10 << 20
	// lateAfter is how long a body may take to arrive while another one waits for memory, without the time for which it
	// waited itself. An API server sends one in milliseconds.
	lateAfter = 500 * time.Millisecond
)

// arrivals bounds the memory of bodies that are arriving. A body reserves memory as its bytes arrive, and nothing for
// what it announces. Bodies up to freeBody never wait. Usual and large bodies have arrivals of their own, so that usual
// ones do not wait for large ones.
//
// A client may send a part of a body and then no more. So a body that is late (lateAfter) is cut if another one waits
// for memory; otherwise it has until its deadline. And one remote address has, of the bodies that are arriving, no more
// than it leaves free: half, or a third if there are two such addresses. The share must not harm API servers, which may
// all have one address, and share it with others: that of a konnectivity agent, or of a node that translates addresses.
// It does not: a body counts until it has arrived, which takes an API server milliseconds; and one that is above the
// share waits, and is not refused. Against a client behind the API server's own address, only the rule of the late ones
// helps. To hold up usual or large bodies there, it has to send megabytes in every second.
type arrivals struct {
	clock clock.Clock

	mu sync.Mutex
	// shares are of what open has reserved. What has arrived counts for no address, and is not free.
	shares
	open map[*arrival]struct{} // those that have reserved something and are arriving
	// last has room for the rest of its body, if beside is true. Otherwise bodies that have arrived in part could wait
	// for each other.
	last    *arrival
	beside  bool
	waiting []*waiter // the one that has announced least is first
}

// waiter is a body that waits for n bytes.
type waiter struct {
	*arrival
	n     int64
	taken chan struct{}
}

// arrival is a body that is arriving.
type arrival struct {
	in        *arrivals
	address   string
	announced int64 // its length at most, in bytes
	cut       func()

	// in.mu guards what follows. since is when it began, or when it got the memory that it had waited for.
	since       time.Time
	waits, late bool
	held        int64
}

// newArrivals returns arrivals that have so many bytes. They are for bodies that reserve all that they need at once,
// unless beside them is room for one body more.
func newArrivals(clock clock.Clock, free int64, beside bool) *arrivals {
	return &arrivals{clock: clock, shares: newShares(1, free), beside: beside, open: map[*arrival]struct{}{}}
}

// read reads a body, which is no longer than announced. It waits for memory until ctx is done, and then fails with HTTP
// 503. The memory is reserved until release, or until an error.
func (a *arrival) read(ctx context.Context, from io.Reader) ([]byte, error) {
	var body []byte
	for {
		if len(body) == cap(body) {
			grown := a.grow(int64(cap(body)))
			if err := a.reserve(ctx, grown-freeBody); err != nil {
				a.release()
				return nil, err
			}
			body = append(make([]byte, 0, grown), body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			a.arrived()
			return body, nil
		}
		if err != nil {
			if late := a.release(); late {
				return nil, newHTTPError(http.StatusServiceUnavailable, busyText)
			}
			return nil, err
		}
	}
}

// grow returns the next capacity for a body that has filled one: four times as much, or two times if it is large, and
// no more than it needs.
func (a *arrival) grow(filled int64) int64 {
	next := max(4*filled, firstBody)
	if filled >= usualBody {
		next = 2 * filled
	}
	return min(next, a.announced+1) // one byte more, to see the end
}

// reserve waits until so many bytes are reserved.
func (a *arrival) reserve(ctx context.Context, needed int64) error {
	in := a.in
	in.mu.Lock()
	defer in.mu.Unlock()
	n := needed - a.held
	if n <= 0 || in.admit(a, n) {
		return nil
	}
	w := &waiter{arrival: a, n: n, taken: make(chan struct{})}
	in.enqueue(w)
	for a.waits {
		again := in.clock.NewTimer(in.cutLate())
		in.mu.Unlock()
		select {
		case <-w.taken:
		case <-again.C():
		case <-ctx.Done():
		}
		again.Stop()
		in.mu.Lock()
		if a.waits && ctx.Err() != nil {
			in.waiting = slices.DeleteFunc(in.waiting, func(other *waiter) bool { return other == w })
			a.waits = false
			return newHTTPError(http.StatusServiceUnavailable, busyText)
		}
	}
	return nil
}

// enqueue makes a body wait behind those that have announced as much, or less.
func (in *arrivals) enqueue(w *waiter) {
	i := slices.IndexFunc(in.waiting, func(other *waiter) bool { return other.announced > w.announced })
	if i < 0 {
		i = len(in.waiting)
	}
	in.waiting, w.waits = slices.Insert(in.waiting, i, w), true
}

// admit reserves n bytes if there is room for them; for a body that waits, room for all of it. So a body waits once, and
// those that have announced much and do not get on leave the room to others.
func (in *arrivals) admit(a *arrival, n int64) bool {
	room := n
	if a.waits {
		room = a.announced + 1 - freeBody - a.held
	}
	switch {
	case in.last == a:
	case in.fits(a.address, room):
		in.take(a.address, n)
		a.held += n
	case in.beside && in.last == nil:
		in.last = a
	default:
		return false
	}
	in.open[a] = struct{}{}
	return true
}

// cutLate cuts the bodies that are late. It returns after how long another one may be late.
func (in *arrivals) cutLate() time.Duration {
	next, now := lateAfter, in.clock.Now()
	for a := range in.open {
		if a.waits || a.late {
			continue
		}
		if left := lateAfter - now.Sub(a.since); left > 0 {
			next = min(next, left)
			continue
		}
		a.late = true
		a.cut()
	}
	return next
}

// arrived ends the share of a body: it does not count for its address any more, and cannot be cut. It has its memory
// until release.
func (a *arrival) arrived() {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	a.close()
	a.in.wake()
}

func (a *arrival) close() {
	in := a.in
	if _, open := in.open[a]; !open {
		return
	}
	delete(in.open, a)
	in.discount(a.address, a.held)
}

// release gives back the memory of a body, and reports whether it was late. A second call does nothing.
func (a *arrival) release() (late bool) {
	in := a.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.last != a && a.held == 0 {
		return a.late
	}
	a.close()
	if in.last == a {
		in.last = nil
	}
	in.free += a.held
	a.held = 0
	in.wake()
	return a.late
}

// wake gives those who wait the memory that there is now.
func (in *arrivals) wake() {
	in.waiting = slices.DeleteFunc(in.waiting, func(w *waiter) bool {
		if !in.admit(w.arrival, w.n) {
			return false
		}
		w.waits, w.since = false, in.clock.Now()
		close(w.taken)
		return true
	})
}
