// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// closeTimeout is how long Run waits at most, first for clients to close their connections, then for open requests.
const closeTimeout = 5 * time.Second

// Draining reports whether the server is shutting down. It still answers while it drains.
func (s *Server) Draining() bool { return s.draining.Load() }

// Run serves until ctx is done and then for the shutdown delay, in which load balancers notice that this replica is not
// ready. Then it accepts no more connections, gives clients some time to close theirs, and finishes the open requests.
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
	case <-s.after(s.delay):
	}
	_ = s.listener.Close()
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("webhook server: %w", err)
	}
	// ServeTLS has returned by now. Otherwise Shutdown would close the listener a second time and fail.
	s.waitUntilUnused(min(s.delay, closeTimeout))
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := s.http.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("webhook server: %w", err)
	}
	return nil
}

// waitUntilUnused waits until no connection is open, but no longer than the limit. To close an idle connection would
// fail a call that its client is about to send on it. A client that uses its connection once more closes it afterwards.
func (s *Server) waitUntilUnused(limit time.Duration) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for end := s.after(limit); s.open.Load() > 0; {
		select {
		case <-end:
			return
		case <-ticker.C:
		}
	}
}

// countConnections counts the open connections.
func (s *Server) countConnections(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	default:
	}
}

// closeWhenDraining asks clients to close their connection while the server drains. Otherwise an API server would keep
// using its open connections, whatever the endpoints of the Service are (kubernetes issue 127335).
func (s *Server) closeWhenDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if s.Draining() {
			rw.Header().Set("Connection", "close")
		}
		next.ServeHTTP(rw, r)
	})
}
