// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"slices"
	"sync"
)

// laneTimes is the share of an address in a lane. One alone may have three quarters: all API servers may have one
// address. Two that take all they may leave a seventh to a third one.
const laneTimes = 3

// lane has memory for requests that cost no more than most, in bytes. Above the share of its address a request waits,
// and holds up those of its own address only. An address that has nothing may take what is free: otherwise the heaviest
// request would never be handled.
type lane struct {
	most int64

	mu sync.Mutex
	shares
	waiting []*queued // the next one is first
}

// queued is a request that waits for n bytes.
type queued struct {
	address string
	n       int64
	taken   chan struct{}
}

func newLane(most, size int64) *lane { return &lane{most: most, shares: newShares(laneTimes, size)} }

// acquire waits for n bytes until ctx is done.
func (l *lane) acquire(ctx context.Context, address string, n int64) error {
	w := &queued{address: address, n: n, taken: make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	l.wake()
	l.mu.Unlock()
	select {
	case <-w.taken:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return nil // it got its memory at the last moment
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.wake() // it may have held up others
	return ctx.Err()
}

// release gives n bytes back. Those who wait at the same address go behind all others: who gives back memory has had
// some.
func (l *lane) release(address string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.give(address, n)
	slices.SortStableFunc(l.waiting, func(a, b *queued) int {
		switch {
		case a.address == b.address:
			return 0
		case a.address == address:
			return 1
		case b.address == address:
			return -1
		}
		return 0
	})
	l.wake()
}

// wake gives those who wait the memory that there is now. One that has nothing, and for which not enough is free, is
// the next to get some: what is smaller does not overtake it for ever.
func (l *lane) wake() {
	full, behind := false, map[string]bool{} // addresses of which one waits
	l.waiting = slices.DeleteFunc(l.waiting, func(w *queued) bool {
		if full || behind[w.address] {
			return false
		}
		nothing := l.held[w.address] == 0
		if l.fits(w.address, w.n) || nothing && w.n <= l.free {
			l.take(w.address, w.n)
			close(w.taken)
			return true
		}
		full, behind[w.address] = nothing, true
		return false
	})
}
