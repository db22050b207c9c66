// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"
	"time"
)

const (
	// mostInFlight is how many shared reads of one group may be under way.
	mostInFlight = 2
	// sharedTimeout bounds a shared read, which belongs to no single request; no webhook may take longer.
	sharedTimeout = 30 * time.Second
)

// batches shares live reads between concurrent requests. A request only ever gets a read that started after the request
// arrived, as in the read-index protocols. The result is therefore as fresh as from a read of its own. While a group's
// reads are under way, the requests that arrive wait together for the next one.
type batches[T any] struct {
	mu     sync.Mutex
	groups map[string]*group[T]
}

// group holds the reads that share a limit of reads in flight: those of one namespace.
type group[T any] struct {
	running int
	waiting []*batch[T]
}

// batch is one read and those who wait for it.
type batch[T any] struct {
	key string
	// first is the context of the one who waits longest, without its end: the read is in that trace.
	first   context.Context
	read    func(context.Context) (T, error)
	waiters int
	cancel  context.CancelFunc
	done    chan struct{}
	value   T
	err     error
}

func newBatches[T any]() *batches[T] {
	return &batches[T]{groups: map[string]*group[T]{}}
}

// do returns what read returns, from a call that started after do was called. Callers with the same group and key must
// have the same read. When ctx is done, only this caller gives up; the read ends when nobody waits for it any more.
func (b *batches[T]) do(ctx context.Context, groupName, key string, read func(context.Context) (T, error)) (T, error) {
	joined := b.join(ctx, groupName, key, read)
	select {
	case <-joined.done:
		return joined.value, joined.err
	case <-ctx.Done():
		b.leave(joined)
		var none T
		return none, ctx.Err()
	}
}

// join adds a waiter to a batch that has not started.
func (b *batches[T]) join(ctx context.Context, groupName, key string, read func(context.Context) (T, error)) *batch[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.groups[groupName]
	if g == nil {
		g = &group[T]{}
		b.groups[groupName] = g
	}
	for _, w := range g.waiting {
		if w.key == key {
			w.waiters++
			return w
		}
	}
	w := &batch[T]{key: key, first: context.WithoutCancel(ctx), read: read, waiters: 1, done: make(chan struct{})}
	g.waiting = append(g.waiting, w)
	b.start(groupName, g)
	return w
}

// leave takes a waiter away; a read that nobody waits for is cancelled.
func (b *batches[T]) leave(w *batch[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.waiters--
	if w.waiters == 0 && w.cancel != nil {
		w.cancel()
	}
}

// start starts waiting reads while fewer than mostInFlight of the group run. The caller holds the lock.
func (b *batches[T]) start(groupName string, g *group[T]) {
	for g.running < mostInFlight && len(g.waiting) > 0 {
		w := g.waiting[0]
		g.waiting = g.waiting[1:]
		if w.waiters == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(w.first, sharedTimeout)
		w.cancel = cancel
		g.running++
		go b.run(ctx, groupName, g, w)
	}
	if g.running == 0 && len(g.waiting) == 0 {
		delete(b.groups, groupName)
	}
}

func (b *batches[T]) run(ctx context.Context, groupName string, g *group[T], w *batch[T]) {
	w.value, w.err = Recovered(func() (T, error) { return w.read(ctx) })
	w.cancel()
	close(w.done)
	b.mu.Lock()
	defer b.mu.Unlock()
	g.running--
	b.start(groupName, g)
}
