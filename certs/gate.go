package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// lookInterval is how often the gate looks for a new leaf, and whether the held-back one has settled.
	lookInterval = 250 * time.Millisecond
	// lastMoment is how long before its end a leaf gives way to one that has not settled: longer than between two
	// looks, so that no call meets an expired one.
	lastMoment = time.Second
)

// signer has the newest leaf, or an error while there is none.
type signer interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
}

// leafGate chooses between the leaf that is served and the newest one. A newer leaf may be of a CA that the API
// servers have not heard of; serving it too early fails every call, so it is held back until they have.
type leafGate struct {
	signer       signer
	registration acceptor
	// settle is for how long the bundle must have verified a new leaf: other API servers learn of it a moment later.
	settle time.Duration
	now    func() time.Time
	wake   signal

	mu       sync.RWMutex
	served   *tls.Certificate
	held     *tls.Certificate
	accepted time.Time // since when the registration accepts held; zero: it does not
	why      error     // why held, or nothing at all, is not served
}

func newLeafGate(signer signer, registration acceptor, settle time.Duration, now func() time.Time) *leafGate {
	return &leafGate{
		signer: signer, registration: registration, settle: settle, now: now, wake: newSignal(),
		why: errors.New("the serving certificate has not been looked for yet"),
	}
}

// Start looks until ctx is done.
func (g *leafGate) Start(ctx context.Context) error {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	log := logr.FromContextOrDiscard(ctx)
	for {
		g.look(log)
		select {
		case <-ctx.Done():
			return nil
		case <-g.wake:
		case <-ticker.C:
		}
	}
}

// GetCertificate returns the leaf that is served, or why there is none.
func (g *leafGate) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.served == nil {
		return nil, g.why
	}
	return g.served, nil
}

// look serves the newest leaf if it may be served now.
func (g *leafGate) look(log logr.Logger) {
	now := g.now()
	newest, err := g.signer.GetCertificate(nil)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.why = fmt.Errorf("no serving certificate has been signed yet: if this lasts, see that stepgate's service "+
			"account may get, list, watch, create and update the CA Secret: %w", err)
		return
	}
	if newest == g.served {
		g.held = nil
		return
	}
	signed := newest != g.held
	if signed {
		g.held, g.accepted = newest, time.Time{}
	}
	if why := g.holdBack(now); why != nil {
		g.why = why
		if signed {
			log.Info("new serving certificate held back", "why", why.Error())
		}
		return
	}
	g.served, g.held, g.why = newest, nil, nil
	if leaf, err := leafOf(newest); err == nil {
		log.Info("new serving certificate served", "serial", leaf.SerialNumber.Text(16), "expires", stamp(leaf.NotAfter))
	}
}

// holdBack says why the held leaf may not replace the served one yet.
func (g *leafGate) holdBack(now time.Time) error {
	if g.served != nil && !isValid(g.served, now) {
		return nil
	}
	if err := g.registration.Accepts(g.held, now); err != nil {
		g.accepted = time.Time{}
		return fmt.Errorf("a serving certificate is signed, but held back: %w", err)
	}
	if g.accepted.IsZero() {
		g.accepted = now
	}
	if left := g.settle - now.Sub(g.accepted); left > 0 && g.worthWaiting(now) {
		return fmt.Errorf("a serving certificate is signed and accepted, and served in %s", left)
	}
	return nil
}

// worthWaiting reports whether there is a leaf that the registration goes on accepting, a registration that would not accept just
// anything, and a CA that is new. Otherwise settling protects nothing; a leaf that lives for seconds would expire in it.
func (g *leafGate) worthWaiting(now time.Time) bool {
	return accepts(g.registration, g.served, now.Add(lastMoment)) && !accepts(g.registration, nil, now) && !sameCA(g.served, g.held)
}

// sameCA reports whether two leaves are known to be signed by one key.
func sameCA(a, b *tls.Certificate) bool {
	first, err := leafOf(a)
	if err != nil {
		return false
	}
	second, err := leafOf(b)
	return err == nil && len(first.AuthorityKeyId) > 0 && bytes.Equal(first.AuthorityKeyId, second.AuthorityKeyId)
}

func isValid(certificate *tls.Certificate, now time.Time) bool {
	return validNow(certificate, now) == nil
}

func accepts(registration acceptor, certificate *tls.Certificate, now time.Time) bool {
	return registration.Accepts(certificate, now) == nil
}
