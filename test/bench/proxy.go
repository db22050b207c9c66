package main

import (
	"net"
	"sync/atomic"
)

// meter is a TCP proxy in front of the API server that counts the bytes that pass, both ways, as they are on the wire.
type meter struct {
	listener net.Listener
	target   string
	count    atomic.Int64
}

// newMeter listens on loopback and forwards to a HOST:PORT.
func newMeter(target string) (*meter, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &meter{listener: listener, target: target}
	go m.accept()
	return m, nil
}

// url is where the API server is reached through it.
func (m *meter) url() string { return "https://" + m.listener.Addr().String() }

// bytes is what has passed so far.
func (m *meter) bytes() int64 { return m.count.Load() }

func (m *meter) close() { _ = m.listener.Close() }

func (m *meter) accept() {
	for {
		client, err := m.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", m.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		go m.forward(server, client)
		go m.forward(client, server)
	}
}

func (m *meter) forward(to, from net.Conn) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			m.count.Add(int64(n))
			if _, writeErr := to.Write(buffer[:n]); writeErr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
