package server

import (
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestAServerLimitsItsConnections looks at what Listen listens with: 1,500 connections take too long to open here.
func TestAServerLimitsItsConnections(t *testing.T) {
	g := NewWithT(t)
	options, _ := testOptions(0)
	s, err := Listen(options)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = s.listener.Close() })
	limited, is := s.listener.(*limitedListener)
	g.Expect(is).To(BeTrue())
	g.Expect(limited.total).To(Equal(maxConnections))
}

// TestAddressesShareTheConnections has some addresses open all connections that they may, and then one more address.
func TestAddressesShareTheConnections(t *testing.T) {
	for name, tc := range map[string]struct{ greedy, wantLeft int }{
		"of one address": {1, 500}, "of two": {2, 285}, "of ten": {10, 64}, "of 64, as in F46": {64, 10},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			l := newLimitedListener(nil, maxConnections)
			for range maxConnections {
				for i := range tc.greedy {
					l.take(strconv.Itoa(i))
				}
			}
			g.Expect(l.total - l.sum).To(BeNumerically("~", tc.wantLeft, 1))
			g.Expect(l.take("another")).To(BeTrue())
		})
	}
}

// TestConnectionsAreLimited opens more connections than one address, and than all, may have.
func TestConnectionsAreLimited(t *testing.T) {
	g := NewWithT(t)
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	l := newLimitedListener(inner, 4)
	t.Cleanup(func() { _ = l.Close() })
	accepted := make(chan net.Conn, 10)
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			accepted <- conn
		}
	}()
	dial := func(from string) net.Conn {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.DialContext(t.Context(), "tcp", inner.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	refused := func(from string) {
		conn := dial(from)
		g.Expect(conn.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
		_, err := conn.Read(make([]byte, 1))
		g.Expect(err).To(MatchError(io.EOF))
		g.Expect(accepted).To(BeEmpty())
	}
	var first net.Conn
	for range 3 {
		dial("127.0.0.1")
		first = <-accepted
	}
	refused("127.0.0.1")
	dial("127.0.0.2")
	<-accepted
	refused("127.0.0.3")

	g.Expect(first.Close()).To(Succeed())
	_ = first.Close() // counts once
	dial("127.0.0.1")
	g.Eventually(accepted).Should(Receive())
	refused("127.0.0.1")
}
