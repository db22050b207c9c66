// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
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

// crowd are connections to a listener of which the tests move the clock.
type crowd struct {
	Gomega
	*limitedListener
	clock *clocktesting.FakePassiveClock
}

func newCrowd(t *testing.T, total int) *crowd {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	return &crowd{NewWithT(t), newLimitedListener(nil, total, clock), clock}
}

// pass lets some time go by.
func (c *crowd) pass(long time.Duration) { c.clock.SetTime(c.clock.Now().Add(long)) }

// closable is a connection that can be closed.
type closable struct {
	net.Conn
	closed bool
}

func (c *closable) Close() error { c.closed = true; return nil }

// dial opens a connection; nil if it is refused.
func (c *crowd) dial(address string) *connection {
	return c.admit(&closable{}, address)
}

// fill has addresses open connections until all of them have tried to open so many, one each at a time.
func (c *crowd) fill(addresses, each int) {
	for range each {
		for i := range addresses {
			c.dial(fmt.Sprint("stranger ", i))
		}
	}
}

// answer has a connection serve a call, as an API server's.
func (c *connection) answer() {
	c.begin()
	c.decide()
	c.end(true)
}

// calls has an API server open so many connections at once, which are in their handshakes for a moment, and then call
// on them. It returns how many calls are answered.
func (c *crowd) calls(connections int) (answered int) {
	var all []*connection
	for range connections {
		if conn := c.dial("api server"); conn != nil {
			all = append(all, conn)
		}
	}
	c.pass(5 * time.Millisecond)
	for _, conn := range all {
		conn.begin()
	}
	for _, conn := range all {
		conn.decide()
	}
	for _, conn := range all {
		if conn.end(true); !conn.removed {
			answered++
		}
		_ = conn.Close()
	}
	return answered
}

// TestSilentConnectionsGiveWay has strangers open all connections that they can, and an API server call meanwhile.
func TestSilentConnectionsGiveWay(t *testing.T) {
	for name, tc := range map[string]struct{ addresses, each int }{
		"of one address": {1, 3000}, "of two": {2, 2000}, "of 64": {64, 60}, "of 2,500": {2500, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, maxConnections)
			c.fill(tc.addresses, tc.each)
			c.pass(time.Second)
			for range 5 {
				c.Expect(c.calls(40)).To(Equal(40))
				c.fill(tc.addresses, max(1, 200/tc.addresses))
				c.Expect(c.open).To(BeNumerically("<=", maxConnections))
				c.pass(100 * time.Millisecond)
			}
		})
	}
}

// TestWhoGivesWay opens one connection more than there may be.
func TestWhoGivesWay(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(c *crowd) (stays, gone *connection)
	}{
		"the older one": {func(c *crowd) (stays, gone *connection) {
			gone = c.dial("a")
			c.pass(time.Second)
			return c.dial("b"), gone
		}},
		"the one that is not used": {func(c *crowd) (stays, gone *connection) {
			stays = c.dial("a")
			c.pass(time.Second)
			gone = c.dial("b")
			c.pass(time.Second)
			stays.answer()
			return stays, gone
		}},
		"a silent one before one that is idle for longer": {func(c *crowd) (stays, gone *connection) {
			stays = c.dial("a")
			stays.answer()
			c.pass(time.Minute)
			return stays, c.dial("b")
		}},
		"one that had other answers": {func(c *crowd) (stays, gone *connection) {
			gone = c.dial("a")
			c.pass(time.Second)
			stays = c.dial("b")
			c.pass(time.Second)
			gone.begin()
			gone.end(false)
			return stays, gone
		}},
		"one whose body does not arrive": {func(c *crowd) (stays, gone *connection) {
			gone, stays = c.dial("a"), c.dial("b")
			gone.begin()
			c.pass(time.Second)
			stays.begin()
			return stays, gone
		}},
		"none of which a request is decided": {func(c *crowd) (stays, gone *connection) {
			stays = c.dial("a")
			stays.begin()
			stays.decide()
			c.pass(time.Hour)
			return stays, c.dial("b")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, 2)
			stays, gone := tc.before(c)
			c.pass(time.Second)
			c.Expect(c.dial("c")).NotTo(BeNil())
			c.Expect(stays.removed).To(BeFalse())
			c.Expect(gone.removed).To(BeTrue())
			c.Expect(gone.Conn).To(Equal(&closable{closed: true}))
			gone.answer() // it does nothing
			c.Expect(gone.Close()).To(Succeed())
			c.Expect(c.open).To(Equal(2))
		})
	}
}

// TestConnectionsInUseKeepTheirShare has requests decided on all connections that an address may have.
func TestConnectionsInUseKeepTheirShare(t *testing.T) {
	c := newCrowd(t, 4)
	var all []*connection
	for range 3 {
		all = append(all, c.dial("a"))
		all[len(all)-1].begin()
		all[len(all)-1].decide()
	}
	c.Expect(c.dial("a")).To(BeNil(), "none of its own gives way")
	other := c.dial("b")
	c.Expect(other).NotTo(BeNil())
	other.begin()
	other.decide()
	c.Expect(c.dial("d")).To(BeNil(), "all are in use")

	all[0].end(true)
	c.pass(time.Second)
	c.Expect(c.dial("d")).NotTo(BeNil())
	c.Expect(all[0].removed).To(BeTrue())
	for _, conn := range append(all, other) {
		c.Expect(conn.Close()).To(Succeed())
		c.Expect(conn.Close()).To(Succeed(), "it counts once")
	}
	c.Expect(c.open).To(Equal(1))
	c.Expect(c.byAddress).To(HaveLen(1))
}

// TestAServerClosesSilentConnectionsForCalls has silent connections take all of a real server, with and without a
// handshake, and calls come from the same address.
func TestAServerClosesSilentConnectionsForCalls(t *testing.T) {
	g := NewWithT(t)
	options, roots := testOptions(0)
	options.Requests = uncounted{}
	options.Handlers = map[string]admission.Handler{path: answering(admission.Allowed(""))}
	server, err := Listen(options)
	g.Expect(err).NotTo(HaveOccurred())
	limited, _ := server.listener.(*limitedListener)
	limited.total = 8
	s := run(t, server, roots)
	var silent []net.Conn
	for i := range 20 {
		conn, err := net.Dial("tcp", server.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		if i%2 == 0 {
			secure := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "example.com"})
			g.Expect(secure.Handshake()).To(Succeed())
			_, err = io.WriteString(secure, "GET /none HTTP/1.1\r\nHost: x\r\n\r\n")
			g.Expect(err).NotTo(HaveOccurred())
			answer, err := http.ReadResponse(bufio.NewReader(secure), nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.StatusCode).To(Equal(http.StatusNotFound))
		}
		silent = append(silent, conn)
		t.Cleanup(func() { _ = conn.Close() })
	}
	client := s.client(nil)
	for range 10 {
		resp, err := client.Do(mustRequest(g, s.url))
		g.Expect(err).NotTo(HaveOccurred())
		_, err = io.Copy(io.Discard, resp.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(resp.Body.Close()).To(Succeed())
		g.Expect(resp.StatusCode).To(Equal(http.StatusOK))
	}
	g.Expect(silent[0].SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	_, err = io.Copy(io.Discard, silent[0]) // ends when the server closes it
	g.Expect(os.IsTimeout(err)).To(BeFalse(), "the oldest is closed")
	limited.mu.Lock()
	defer limited.mu.Unlock()
	g.Expect(limited.open).To(BeNumerically("<=", 8))
}

// mustRequest is a call of an API server to a real server.
func mustRequest(g Gomega, url string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, url, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	r.Header.Set("Content-Type", "application/json")
	like := post(good)
	r.Body, r.ContentLength = like.Body, like.ContentLength
	return r
}

// TestConnectionsAreLimited opens more connections to a listener than one address, and than all, may have.
func TestConnectionsAreLimited(t *testing.T) {
	g := NewWithT(t)
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	l := newLimitedListener(inner, 4, clock.RealClock{})
	t.Cleanup(func() { _ = l.Close() })
	accepted := make(chan net.Conn, 10)
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			accepted <- conn
		}
	}()
	dial := func(from string) (client, server net.Conn) {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client, err := dialer.DialContext(t.Context(), "tcp", inner.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = client.Close() })
		g.Eventually(accepted).Should(Receive(&server))
		return client, server
	}
	closed := func(client net.Conn) {
		g.Expect(client.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
		_, err := client.Read(make([]byte, 1))
		g.Expect(err).To(MatchError(io.EOF))
	}
	oldest, _ := dial("127.0.0.1")
	next, _ := dial("127.0.0.1")
	dial("127.0.0.1")
	dial("127.0.0.1")
	closed(oldest)
	dial("127.0.0.2")
	_, last := dial("127.0.0.2")
	closed(next)
	g.Expect(last.Close()).To(Succeed())
	g.Eventually(func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.open
	}).Should(Equal(3))
}
