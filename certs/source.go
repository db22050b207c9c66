// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Source is what the HTTPS server and the readiness probe need of a serving certificate.
type Source interface {
	// Start runs until ctx is done, and then returns nil; an error must end the process. It may be called once.
	Start(ctx context.Context) error
	// GetCertificate is tls.Config.GetCertificate. Without a certificate it fails, and so does the handshake.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Ready says why the API server would not accept the certificate that is served now. It returns nil if there is a
	// certificate, it is valid now, and every caBundle of the webhook configurations that exist verifies it. When in
	// doubt, such as before a configuration has been read, it returns an error. A source that writes the caBundles
	// itself may give them a grace period.
	Ready() error
}

// acceptor says why the API server would not accept a certificate, judging by stepgate's registration with it. It
// returns nil if the API server would, or if no webhook is registered. A registered webhook never accepts a nil
// certificate.
type acceptor interface {
	Accepts(certificate *tls.Certificate, now time.Time) error
}

// ready is the part of Source.Ready that both modes share.
func ready(certificate *tls.Certificate, registration acceptor, now time.Time) error {
	if err := validNow(certificate, now); err != nil {
		return err
	}
	return registration.Accepts(certificate, now)
}

// validNow says why a certificate is outside of its validity period.
func validNow(certificate *tls.Certificate, now time.Time) error {
	leaf, err := leafOf(certificate)
	switch {
	case err != nil:
		return err
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the serving certificate is not valid before %s, and it is %s: check this node's clock",
			stamp(leaf.NotBefore), stamp(now))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the serving certificate expired at %s, and it is %s: it was not renewed; "+
			"the log says why, or see whoever writes the certificate files", stamp(leaf.NotAfter), stamp(now))
	}
	return nil
}

// leafOf returns the certificate that names the server. The error is for a certificate without one.
func leafOf(certificate *tls.Certificate) (*x509.Certificate, error) {
	if certificate == nil || len(certificate.Certificate) == 0 {
		return nil, errors.New("there is no serving certificate")
	}
	if certificate.Leaf != nil {
		return certificate.Leaf, nil
	}
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("the serving certificate does not parse: %w", err)
	}
	return leaf, nil
}

// untilDone drops an error that comes after ctx is done.
func untilDone(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// signal wakes a loop. Raising it twice before the loop looks is raising it once.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}
