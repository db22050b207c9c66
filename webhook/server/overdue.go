// SPDX-License-Identifier: Apache-2.0

package server

import "sync"

const (
	// overdueMemory is for requests whose handlers go on past their deadline, in bytes. It has room for the heaviest.
	overdueMemory = maxCost
	// overdueHandlers is how many handlers may go on past their deadline. One address may have half of them: each may
	// keep a processor busy.
	overdueHandlers = 32
)

// overdueText is the answer where too many handlers go on past their deadline.
const overdueText = "stepgate is busy with requests that have not ended in their time; try again"

// overdue bounds what goes on past its deadline. Nobody can end a goroutine, and so its request is answered, and its
// memory is given to others in the lane: as much as overdueMemory. Above that a request keeps its memory in the lane.
// So all handlers together never have more than both.
type overdue struct {
	mu       sync.Mutex
	memory   int64
	handlers shares
}

func newOverdue() overdue {
	return overdue{memory: overdueMemory, handlers: newShares(1, overdueHandlers)}
}

// refuses reports whether an address gets no more handlers, because those that it has do not end. One that has none
// past its deadline is never refused.
func (o *overdue) refuses(address string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.handlers.held[address] > 0 && !o.handlers.fits(address, 1)
}

// reservation is the memory for handling a request.
type reservation struct {
	in      *lane
	overdue *overdue
	address string
	cost    int64

	mu          sync.Mutex
	late, moved bool // past its deadline, and so its memory is of overdue
	released    bool
}

// release gives the memory back when the handler has ended.
func (r *reservation) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released = true
	if !r.moved {
		r.in.release(r.address, r.cost)
	}
	if !r.late {
		return
	}
	r.overdue.mu.Lock()
	defer r.overdue.mu.Unlock()
	r.overdue.handlers.give(r.address, 1)
	if r.moved {
		r.overdue.memory += r.cost
	}
}

// expire is called at the deadline of a handler that has not ended. It gives the memory to others.
func (r *reservation) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.released {
		return
	}
	r.late = true
	r.overdue.mu.Lock()
	r.overdue.handlers.take(r.address, 1)
	if r.cost <= r.overdue.memory {
		r.overdue.memory -= r.cost
		r.moved = true
	}
	r.overdue.mu.Unlock()
	if r.moved {
		r.in.release(r.address, r.cost)
	}
}
