package server

import (
	"errors"
	"net"
	"sync"
)

const (
	// maxConnections bounds the open connections. API servers open one for each of their calls at a time.
	maxConnections = 2000
	// addressShare is how many times as many connections an IP address may have as are left for others. One alone may
	// have 1,500: all API servers may have one address. Two that take all they may leave 285 to a third one, and ten
	// leave 64.
	addressShare = 3
)

// limitedListener closes new connections where too many are open, of all or of their address.
type limitedListener struct {
	net.Listener
	total int

	mu   sync.Mutex
	open map[string]int
	sum  int
}

func newLimitedListener(l net.Listener, total int) *limitedListener {
	return &limitedListener{Listener: l, total: total, open: map[string]int{}}
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
	if l.open[address] >= addressShare*(l.total-l.sum) {
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
