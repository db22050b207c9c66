package server

import (
	"errors"
	"net"
	"sync"
)

const (
	// maxConnections bounds the open connections, and maxPerAddress those from one IP address. API servers open one for each of
	// their calls at a time.
	maxConnections = 2000
	maxPerAddress  = 1500
)

// limitedListener closes new connections where too many are open.
type limitedListener struct {
	net.Listener
	total, perAddress int

	mu   sync.Mutex
	open map[string]int
	sum  int
}

func newLimitedListener(l net.Listener, total, perAddress int) *limitedListener {
	return &limitedListener{Listener: l, total: total, perAddress: perAddress, open: map[string]int{}}
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
		if l.take(address) {
			return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { l.give(address) })}, nil
		}
		_ = conn.Close()
	}
}

func (l *limitedListener) take(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sum >= l.total || l.open[address] >= l.perAddress {
		return false
	}
	l.sum++
	l.open[address]++
	return true
}

func (l *limitedListener) give(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum--
	if l.open[address]--; l.open[address] == 0 {
		delete(l.open, address)
	}
}

// countedConn is counted until it is closed.
type countedConn struct {
	net.Conn
	closed func()
}

// Close closes the connection.
func (c *countedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
