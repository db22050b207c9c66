package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	"github.com/stepgate/stepgate/test/release"
)

// observePeriod is how often the observer looks; a leaf is served for seconds at least.
const observePeriod = 200 * time.Millisecond

// observer handshakes with every replica all the time. It verifies what it is shown as the API server does, by the
// bundle that is stored, and counts the leaves.
type observer struct {
	stand *stand

	mu         sync.Mutex
	serials    map[*release.Replica]string
	leaves     int
	handshakes int
	refused    []string
}

func newObserver(s *stand) *observer {
	return &observer{stand: s, serials: map[*release.Replica]string{}}
}

func (o *observer) run(ctx context.Context) error {
	ticker := time.NewTicker(observePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, gate := range o.stand.release.Replicas() {
			if gate.Ready(ctx) != nil {
				continue // a Service sends it nothing
			}
			bundle, err := o.stand.release.Bundle(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			if len(bundle) > 0 {
				o.look(gate, bundle)
			}
		}
	}
}

// look handshakes once. The bundle was read before: what is served may not be ahead of it.
func (o *observer) look(gate *release.Replica, bundle []byte) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	leaf, err := gate.Leaf(roots)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handshakes++
	if err != nil {
		o.refused = append(o.refused, fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly), gate.Webhook, err))
		return
	}
	serial := leaf.SerialNumber.String()
	if before, known := o.serials[gate]; known && before != serial {
		o.leaves++
	}
	o.serials[gate] = serial
}

// count is how often a replica served another leaf than before.
func (o *observer) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leaves
}
