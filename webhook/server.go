package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
)

// Path is where the webhook is served.
const Path = "/validate"

const (
	// writeTimeout is longer than the longest timeoutSeconds that a webhook can have, 30 s.
	writeTimeout = 35 * time.Second
	// idleTimeout is longer than the 90 s after which an API server itself closes an idle connection, so that it never
	// sends a call on a connection that is being closed here. It is the time for a header, too: an API server opens a
	// connection for a call, gives the call to another one that has become free, and keeps the new one for later. To
	// net/http, such a connection is one whose header does not come.
	idleTimeout = 2 * time.Minute
	closeGrace  = 5 * time.Second
	maxHeader   = 16 << 10
)

// Server serves the webhook over HTTPS: HTTP/1.1 only, TLS 1.2 or better, every phase of a connection bounded in time (of
// the handshake by writeTimeout).
// (controller-runtime's server bounds neither reading nor writing.)
type Server struct {
	http     *http.Server
	listener net.Listener
	draining atomic.Bool
	open     atomic.Int64 // connections
	delay    time.Duration
}

// Listen opens the address; TLS takes its certificate from getCertificate. delay is how long Run goes on serving after
// its context is done.
func Listen(address string, handler http.Handler, getCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error), delay time.Duration, logger logr.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("webhook server: %w", err)
	}
	s := &Server{listener: listener, delay: delay}
	mux := http.NewServeMux()
	mux.Handle(Path, handler)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler:           s.closeWhenDraining(mux),
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: getCertificate},
		Protocols:         protocols,
		ReadHeaderTimeout: idleTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         s.count,
		ErrorLog:          log.New(noise{log: logger, limit: rate.NewLimiter(1, 10)}, "", 0),
	}
	return s, nil
}

// Addr is the address that is listened on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Draining reports whether the server is on its way out; it still answers.
func (s *Server) Draining() bool { return s.draining.Load() }

// Run serves until ctx is done, then for the delay, in which load balancers learn that this replica is not ready. Then
// it takes no new connections, leaves the open ones to their clients for a while, and finishes the requests under way.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("webhook server: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	select {
	case err := <-failed:
		return fmt.Errorf("webhook server: %w", err)
	case <-time.After(s.delay):
	}
	_ = s.listener.Close()
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("webhook server: %w", err)
	}
	// Serve has returned: else Shutdown would close the listener once more, and fail.
	s.untilUnused(min(s.delay, closeGrace))
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if err := s.http.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("webhook server: %w", err)
	}
	return nil
}

// count keeps the number of open connections.
func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	default:
	}
}

// untilUnused waits until no connection is open, but no longer than patience. To close an idle connection is to fail the
// call that its client is just about to send on it; one that is used once more is closed by its client.
func (s *Server) untilUnused(patience time.Duration) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for end := time.After(patience); s.open.Load() > 0; {
		select {
		case <-end:
			return
		case <-ticker.C:
		}
	}
}

// closeWhenDraining asks clients for a new connection while the server drains: an API server would otherwise go on
// using its open connections, whatever the Service's endpoints are (kubernetes issue 127335).
func (s *Server) closeWhenDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if s.Draining() {
			rw.Header().Set("Connection", "close")
		}
		next.ServeHTTP(rw, r)
	})
}

// noise writes net/http's log. Probes and load balancers that open a connection and go away are not worth a line, and
// whoever sends garbage does not get to fill the log.
type noise struct {
	log   logr.Logger
	limit *rate.Limiter
}

// Write logs one line.
func (n noise) Write(p []byte) (int, error) {
	line := printable(strings.TrimSpace(string(p)))
	gone := strings.Contains(line, "TLS handshake error") && (strings.HasSuffix(line, "EOF") || strings.HasSuffix(line, "connection reset by peer"))
	log := n.log
	if gone || !n.limit.Allow() {
		log = log.V(1)
	}
	log.Info("HTTP server", "detail", line)
	return len(p), nil
}
