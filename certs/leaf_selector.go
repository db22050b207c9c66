// SPDX-License-Identifier: Apache-2.0

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
	// selectInterval is how often the selector looks for a new leaf, and whether the candidate has settled.
	selectInterval = 250 * time.Millisecond
	// expiryMargin is how long before its end a served leaf gives way to a candidate that has not settled: longer than
	// selectInterval, so that no call meets an expired leaf.
	expiryMargin = time.Second
)

// signer has the newest leaf, or an error while there is none.
type signer interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
}

// leafSelector chooses between the leaf that is served and the newest one. A newer leaf may be signed by a CA that the
// API servers do not trust yet; every call would fail if it were served too early. It stays a candidate until they do.
type leafSelector struct {
	signer       signer
	registration acceptor
	// settle is for how long the bundle must have verified a candidate: other API servers read the bundle a moment
	// later.
	settle time.Duration
	now    func() time.Time
	wake   signal

	mu            sync.RWMutex
	served        *tls.Certificate
	candidate     *tls.Certificate // the newest leaf, while it is not served
	acceptedSince time.Time        // since when the registration accepts the candidate; zero: it does not
	why           error            // why the candidate, or no leaf at all, is not served
}

func newLeafSelector(signer signer, registration acceptor, settle time.Duration, now func() time.Time) *leafSelector {
	return &leafSelector{
		signer: signer, registration: registration, settle: settle, now: now, wake: newSignal(),
		why: errors.New("stepgate has not looked for a serving certificate yet"),
	}
}

// Start looks until ctx is done.
func (s *leafSelector) Start(ctx context.Context) error {
	ticker := time.NewTicker(selectInterval)
	defer ticker.Stop()
	log := logr.FromContextOrDiscard(ctx)
	for {
		s.look(log)
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-ticker.C:
		}
	}
}

// GetCertificate returns the leaf that is served, or why there is none.
func (s *leafSelector) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.served == nil {
		return nil, s.why
	}
	return s.served, nil
}

// look serves the newest leaf if it may be served now.
func (s *leafSelector) look(log logr.Logger) {
	now := s.now()
	newest, err := s.signer.GetCertificate(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.why = fmt.Errorf("no serving certificate has been signed yet: if this lasts, see that stepgate's service "+
			"account may get, list, watch, create and update the CA Secret: %w", err)
		return
	}
	if newest == s.served {
		s.candidate = nil
		return
	}
	isNew := newest != s.candidate
	if isNew {
		s.candidate, s.acceptedSince = newest, time.Time{}
	}
	if s.why = s.holdBack(now); s.why != nil {
		if isNew {
			log.Info("new serving certificate held back", "why", s.why.Error())
		}
		return
	}
	s.served, s.candidate = newest, nil
	if leaf, err := leafOf(newest); err == nil {
		log.Info("new serving certificate served", "serial", leaf.SerialNumber.Text(16), "expires", stamp(leaf.NotAfter))
	}
}

// holdBack says why the candidate may not replace the served leaf yet. An expired leaf is replaced at once: no
// candidate is worse. Otherwise the bundle must verify the candidate, and must have done so for the settle time if that
// is of use.
func (s *leafSelector) holdBack(now time.Time) error {
	if s.served != nil && !isValid(s.served, now) {
		return nil
	}
	if err := s.registration.Accepts(s.candidate, now); err != nil {
		s.acceptedSince = time.Time{}
		return fmt.Errorf("a serving certificate is signed, but held back: %w", err)
	}
	if s.acceptedSince.IsZero() {
		s.acceptedSince = now
	}
	if left := s.settle - now.Sub(s.acceptedSince); left > 0 && s.mustSettle(now) {
		return fmt.Errorf("a serving certificate is signed and accepted, and will be served in %s", left)
	}
	return nil
}

// mustSettle reports whether the settle time protects any call from failins.
func (s *leafSelector) mustSettle(now time.Time) bool {
	switch {
	case sameCA(s.served, s.candidate):
		return false // Every API server that trusts the served leaf trusts the candidate, too.
	case !isRegistered(s.registration, now):
		return false // No API server verifies anythins.
	default:
		// The served leaf must last for the wait: the bundle verifies it, and it does not expire before the next look.
		return accepts(s.registration, s.served, now.Add(expiryMargin))
	}
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

// isRegistered reports whether there is a webhook that verifies certificates. Only then a missing certificate is
// refused.
func isRegistered(registration acceptor, now time.Time) bool {
	return !accepts(registration, nil, now)
}

func accepts(registration acceptor, certificate *tls.Certificate, now time.Time) bool {
	return registration.Accepts(certificate, now) == nil
}
