package local

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// probePeriod is how often a Balancer asks for readiness. One failure takes a replica out: that is stricter than a
	// kubelet, which asks every 10 s and wants three.
	probePeriod = 250 * time.Millisecond
	// probeTimeout is longer than stepgate's own patience with the API server, so that its answer is seen.
	probeTimeout = 3 * time.Second
)

// Balancer does what a Service does: it forwards new connections to the replicas that are ready, in turn, and leaves
// the open ones alone, whatever becomes of their replica.
type Balancer struct {
	*Wire

	mu       sync.Mutex
	replicas []*replica
	next     int
}

// replica is a Gate behind a Balancer.
type replica struct {
	gate   *Gate
	ready  bool
	remove context.CancelFunc
}

// NewBalancer listens on loopback, with no replica.
func NewBalancer() (*Balancer, error) {
	wire, err := NewWire()
	if err != nil {
		return nil, err
	}
	b := &Balancer{Wire: wire}
	go b.serve()
	return b, nil
}

// URL is what the API server is to call.
func (b *Balancer) URL() string { return "https://" + b.Addr().String() + "/validate" }

// Add puts a replica behind the balancer, until Remove or until ctx is done. It gets connections when it is ready.
func (b *Balancer) Add(ctx context.Context, gate *Gate) {
	ctx, cancel := context.WithCancel(ctx)
	r := &replica{gate: gate, remove: cancel}
	b.mu.Lock()
	b.replicas = append(b.replicas, r)
	b.mu.Unlock()
	go b.probe(ctx, r)
}

// Remove takes a replica away. Its open connections stay.
func (b *Balancer) Remove(gate *Gate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = slices.DeleteFunc(b.replicas, func(r *replica) bool {
		if r.gate != gate {
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
	for _, r := range b.replicas {
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
	for _, r := range b.replicas {
		r.remove()
	}
}

func (b *Balancer) probe(ctx context.Context, r *replica) {
	ticker := time.NewTicker(probePeriod)
	defer ticker.Stop()
	for {
		once, cancel := context.WithTimeout(ctx, probeTimeout)
		err := r.gate.Ready(once)
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

func (b *Balancer) serve() {
	for {
		client, err := b.Accept()
		if err != nil {
			return
		}
		go b.connect(client)
	}
}

// connect forwards one connection. It does not try a second replica: a Service does not, either.
func (b *Balancer) connect(client net.Conn) {
	refuse := func() { client.(*wireConn).reset(); _ = client.Close() }
	address, ok := b.pick()
	if !ok {
		refuse()
		return
	}
	server, err := net.Dial("tcp", address)
	if err != nil {
		refuse()
		return
	}
	go forward(server, client)
	go forward(client, server)
}

func (b *Balancer) pick() (address string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.replicas {
		b.next = (b.next + 1) % len(b.replicas)
		if r := b.replicas[b.next]; r.ready {
			return r.gate.Webhook, true
		}
	}
	return "", false
}

// forward copies until one side ends, and then ends the other.
func forward(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}
