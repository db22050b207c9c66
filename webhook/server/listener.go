// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net"
	"net/http"
	"sync"

	"k8s.io/utils/clock"
)

const (
	// maxConnections bounds the open connections. API servers open one for each of their calls at a time.
	maxConnections = 2000
	// addressShare is how many times as many connections an IP address may have as are left for others. One alone may
	// have 1,500: all API servers may have one address.
	addressShare = 3
)

// limitedListener bounds the open connections, of all and of each address. Where there are too many, one that is not
// used gives way to a new one (connections.longest); a new one is closed only if all are being used.
type limitedListener struct {
	net.Listener
	clock clock.PassiveClock

	mu sync.Mutex
	connections
}

func newLimitedListener(l net.Listener, total int, clock clock.PassiveClock) *limitedListener {
	return &limitedListener{Listener: l, clock: clock, connections: newConnections(total)}
}

// Accept returns the next connection that is within the limits.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		if c := l.admit(conn, address); c != nil {
			return c, nil
		}
		_ = conn.Close()
	}
}

// admit counts a connection, and closes the one that gives way to it. It returns nil if there is none.
func (l *limitedListener) admit(conn net.Conn, address string) *connection {
	l.mu.Lock()
	gone, fits := l.room(address, l.clock.Now())
	if !fits {
		l.mu.Unlock()
		return nil
	}
	if gone != nil {
		l.remove(gone)
	}
	c := &connection{Conn: conn, of: l, address: address, since: l.clock.Now()}
	l.add(c)
	l.mu.Unlock()
	if gone != nil {
		_ = gone.Conn.Close()
	}
	return c
}

// Limit has an HTTP server without TLS keep no more than total connections open, and returns the listener for that.
// Where there are too many, those give way that are not used: whose requests are not being handled (Sending).
func Limit(s *http.Server, l net.Listener, total int) net.Listener {
	next := s.Handler
	s.ConnContext = withConnection
	s.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		connectionOf(r).decide()
		defer connectionOf(r).end(true)
		next.ServeHTTP(rw, r)
	})
	return newLimitedListener(l, total, clock.RealClock{})
}

// Sending has the connection of a request give way to others from now on: its client may read a long answer slowly.
func Sending(r *http.Request) { connectionOf(r).end(true) }
