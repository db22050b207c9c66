// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	"github.com/stepgate/stepgate/test/installed"
)

// handshakePeriod is the time between two handshakes with a replica; a leaf is served for seconds at least.
const handshakePeriod = 200 * time.Millisecond

// handshaker handshakes with every replica all the time. It verifies each certificate as the API server does, by the
// bundle that is stored in each webhook configuration, and counts the leaves.
type handshaker struct {
	release *installed.Release

	mu         sync.Mutex
	serials    map[*installed.Replica]string
	leaves     int
	handshakes int
	refused    []string
}

func newHandshaker(r *installed.Release) *handshaker {
	return &handshaker{release: r, serials: map[*installed.Replica]string{}}
}

func (h *handshaker) run(ctx context.Context) error {
	ticker := time.NewTicker(handshakePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, replica := range h.release.Replicas() {
			if replica.Ready(ctx) != nil {
				continue // a Service sends it nothing
			}
			bundles, err := installed.Bundles(ctx, shared, h.release.Name())
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			for _, bundle := range bundles {
				if len(bundle) > 0 {
					h.handshake(replica, bundle)
				}
			}
		}
	}
}

// handshake handshakes once. The bundle was read before: a replica may not serve a leaf of a CA that is not in it yet.
func (h *handshaker) handshake(replica *installed.Replica, bundle []byte) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	leaf, err := replica.Leaf(roots)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handshakes++
	if err != nil {
		h.refused = append(h.refused, fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly), replica.Webhook, err))
		return
	}
	serial := leaf.SerialNumber.String()
	if before, known := h.serials[replica]; known && before != serial {
		h.leaves++
	}
	h.serials[replica] = serial
}

// count is how often a replica has served another leaf than before.
func (h *handshaker) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leaves
}
