// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stepgate/stepgate/test/faultproxy"
)

const (
	// probePeriod is how often a Balancer asks for readiness. One failure takes a replica out: that is stricter than a
	// kubelet, which asks every 10 s and wants three.
	probePeriod = 250 * time.Millisecond
	// probeTimeout is longer than stepgate's own time limit for the API server, so that its answer is seen.
	probeTimeout = 3 * time.Second
)

// Balancer behaves like a Service: it forwards new connections to the replicas that are ready, in turn, and leaves
// the open ones alone, whatever becomes of their replica.
type Balancer struct {
	*faultproxy.Wire

	mu       sync.Mutex
	backends []*backend
	next     int
}

// backend is a Replica behind a Balancer.
type backend struct {
	*Replica
	ready  bool
	remove context.CancelFunc
}

// NewBalancer listens on loopback, with no replica.
func NewBalancer() (*Balancer, error) {
	wire, err := faultproxy.NewWire()
	if err != nil {
		return nil, err
	}
	b := &Balancer{Wire: wire}
	go wire.Forward(b.pick)
	return b, nil
}

// URL is the address that the API server has to call, without the path.
func (b *Balancer) URL() string { return "https://" + b.Addr().String() }

// Add puts a replica behind the balancer, until Remove or until ctx is done. It gets connections when it is ready.
func (b *Balancer) Add(ctx context.Context, replica *Replica) {
	ctx, cancel := context.WithCancel(ctx)
	r := &backend{Replica: replica, remove: cancel}
	b.mu.Lock()
	b.backends = append(b.backends, r)
	b.mu.Unlock()
	go b.probe(ctx, r)
}

// Remove takes a replica away. Its open connections stay.
func (b *Balancer) Remove(replica *Replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = slices.DeleteFunc(b.backends, func(r *backend) bool {
		if r.Replica != replica {
			return false
		}
		r.remove()
		return true
	})
}

// Ready is how many replicas get connections.
func (b *Balancer) Ready() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	ready := 0
	for _, r := range b.backends {
		if r.ready {
			ready++
		}
	}
	return ready
}

// Close closes everything.
func (b *Balancer) Close() {
	_ = b.Wire.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.backends {
		r.remove()
	}
}

func (b *Balancer) probe(ctx context.Context, r *backend) {
	ticker := time.NewTicker(probePeriod)
	defer ticker.Stop()
	for {
		once, cancel := context.WithTimeout(ctx, probeTimeout)
		err := r.Ready(once)
		cancel()
		b.mu.Lock()
		r.ready = err == nil
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// pick is the address of the next replica that is ready; it is empty, and nobody can dial it, when there is none.
func (b *Balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.backends {
		b.next = (b.next + 1) % len(b.backends)
		if r := b.backends[b.next]; r.ready {
			return r.Webhook
		}
	}
	return ""
}
