package faultproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Proxy forwards TCP connections, and counts what it forwards, until it is cut: then nothing is forwarded any more, on
// open connections and new ones, and nobody is told, as when a network drops packets.
type Proxy struct {
	listener net.Listener
	target   string
	bytes    atomic.Int64

	mu    sync.Mutex
	cut   chan struct{}
	conns []net.Conn
}

// NewProxy listens on loopback and forwards to a HOST:PORT.
func NewProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, target: target, cut: make(chan struct{})}
	go p.accept()
	return p, nil
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Bytes is what was forwarded so far, both ways, as it is on the wire.
func (p *Proxy) Bytes() int64 { return p.bytes.Load() }

// Cut stops all forwarding, silently.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.cut)
}

// Close closes everything.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.keep(client)
		select {
		case <-p.cut:
			continue // accepted by the kernel, and never answered
		default:
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.keep(server)
		go p.forward(server, client)
		go p.forward(client, server)
	}
}

func (p *Proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
}

func (p *Proxy) forward(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-p.cut:
			return
		default:
		}
		if n > 0 {
			p.bytes.Add(int64(n))
			if _, writeErr := to.Write(buffer[:n]); writeErr != nil {
				err = writeErr
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				_ = to.Close()
			}
			return
		}
	}
}
