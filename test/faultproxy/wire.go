// SPDX-License-Identifier: Apache-2.0

// Package faultproxy puts proxies on connections that break them: on TCP (Wire, Proxy) and on HTTP (APIProxy).
package faultproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Wire is a listener whose connections can be disturbed as a network disturbs them: held silently, delayed, reset.
type Wire struct {
	listener net.Listener
	bytes    atomic.Int64

	mu       sync.Mutex
	open     chan struct{} // closed while bytes pass
	delay    time.Duration
	refuse   bool
	ended    bool
	conns    map[*wireConn]struct{}
	accepted int
}

// NewWire listens on loopback.
func NewWire() (*Wire, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{listener: listener, open: make(chan struct{}), conns: map[*wireConn]struct{}{}}
	close(w.open)
	return w, nil
}

// Hold stops all bytes, on open connections and new ones, without a sign to either side.
func (w *Wire) Hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.open:
		w.open = make(chan struct{})
	default:
	}
}

// Delay delays every piece of data, both ways.
func (w *Wire) Delay(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = by
}

// Refuse resets every open connection, and every new one until Heal.
func (w *Wire) Refuse() {
	w.mu.Lock()
	w.refuse = true
	w.mu.Unlock()
	w.Reset()
}

// Reset resets every open connection. New ones are served.
func (w *Wire) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.reset()
	}
}

// Heal ends all disturbance. Held bytes arrive late, as after a retransmission.
func (w *Wire) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay, w.refuse = 0, false
	select {
	case <-w.open:
	default:
		close(w.open)
	}
}

// Connections is how many were accepted so far.
func (w *Wire) Connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.accepted
}

// Accept implements net.Listener.
func (w *Wire) Accept() (net.Conn, error) {
	for {
		accepted, err := w.listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &wireConn{Conn: accepted, wire: w, closed: make(chan struct{})}
		w.mu.Lock()
		if w.refuse {
			w.mu.Unlock()
			c.reset()
			continue
		}
		w.conns[c] = struct{}{}
		w.accepted++
		w.mu.Unlock()
		return c, nil
	}
}

// Addr implements net.Listener.
func (w *Wire) Addr() net.Addr { return w.listener.Addr() }

// Close closes the listener and every connection.
func (w *Wire) Close() error {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return nil
	}
	w.ended = true
	open := make([]*wireConn, 0, len(w.conns))
	for c := range w.conns {
		open = append(open, c)
	}
	w.mu.Unlock()
	err := w.listener.Close()
	for _, c := range open {
		_ = c.Close()
	}
	return err
}

// wireConn is one connection of a Wire.
type wireConn struct {
	net.Conn
	wire   *Wire
	once   sync.Once
	closed chan struct{}
}

// Read reads when the wire lets bytes pass.
func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.pass() {
		return 0, net.ErrClosed
	}
	c.wire.bytes.Add(int64(n))
	// A held wire hides the end of a connection as it hides data.
	if errors.Is(err, io.EOF) && !c.pass() {
		return n, net.ErrClosed
	}
	return n, err
}

// Write writes when the wire lets bytes pass.
func (c *wireConn) Write(p []byte) (int, error) {
	if !c.pass() {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Write(p)
	c.wire.bytes.Add(int64(n))
	return n, err
}

// Close closes the connection.
func (c *wireConn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// pass waits until the wire carries bytes. It is false when the connection was closed meanwhile.
func (c *wireConn) pass() bool {
	c.wire.mu.Lock()
	open, delay := c.wire.open, c.wire.delay
	c.wire.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.closed:
			return false
		}
	}
	select {
	case <-open:
		return true
	case <-c.closed:
		return false
	}
}

// reset ends the connection with a RST and not with a FIN. The wire's lock may be held.
func (c *wireConn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.once.Do(func() { close(c.closed) })
	_ = c.Conn.Close()
}

func (c *wireConn) forget() {
	c.once.Do(func() { close(c.closed) })
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	delete(c.wire.conns, c)
}

// Forward forwards every connection to the address that target returns for it, until the Wire is closed. It resets a
// connection when nobody listens there.
func (w *Wire) Forward(target func() string) {
	for {
		client, err := w.Accept()
		if err != nil {
			return
		}
		go func() {
			server, err := net.Dial("tcp", target())
			if err != nil {
				client.(*wireConn).reset()
				_ = client.Close()
				return
			}
			go pipe(server, client)
			pipe(client, server)
		}()
	}
}

// pipe copies until one side ends, and then ends the other.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}
