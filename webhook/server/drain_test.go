// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// After its context is done, the server still answers for the delay and asks each client for a new connection. Then it
// closes its port.
func TestServerDrains(t *testing.T) {
	g := NewWithT(t)
	s, end := startStopped(t, 500*time.Millisecond)
	client := s.client(nil)
	resp, err := get(client, s.url)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.Close).To(BeFalse())
	g.Expect(s.Draining()).To(BeFalse())

	s.stop()
	g.Eventually(s.Draining).Should(BeTrue())
	for range 3 {
		resp, err = get(client, s.url)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(resp.StatusCode).To(Equal(200))
		g.Expect(resp.Close).To(BeTrue(), "Connection: close")
	}
	end(500 * time.Millisecond)
	g.Expect(<-s.result).To(Succeed())
	_, err = net.Dial("tcp", s.Addr().String())
	g.Expect(errors.Is(err, syscall.ECONNREFUSED)).To(BeTrue(), "%v", err)
}

// startStopped serves until the test ends. The times that the server waits for when it stops end when the test says so.
func startStopped(t *testing.T, delay time.Duration) (s *testServer, end func(time.Duration)) {
	t.Helper()
	g := NewWithT(t)
	options, roots := testOptions(delay)
	mux := http.NewServeMux()
	mux.HandleFunc(path, ok)
	server, err := listen(options, mux)
	g.Expect(err).NotTo(HaveOccurred())
	waits := make(chan time.Duration, 2)
	ended := map[time.Duration]chan time.Time{delay: make(chan time.Time), closeTimeout: make(chan time.Time)}
	server.after = func(d time.Duration) <-chan time.Time { waits <- d; return ended[d] }
	return run(t, server, roots), func(d time.Duration) {
		g.Expect(<-waits).To(Equal(d))
		ended[d] <- time.Time{}
	}
}

// A client may use an open connection once more after the port has closed: an API server that is about to send a call
// on it cannot know that, and does not retry.
func TestServerLeavesOpenConnectionsToTheirClients(t *testing.T) {
	g := NewWithT(t)
	s, end := startStopped(t, time.Minute)
	conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: s.roots})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = conn.Close() }()
	answers := bufio.NewReader(conn)
	call := func() (*http.Response, error) {
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return resp, errors.Join(err, resp.Body.Close())
	}
	resp, err := call()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.Close).To(BeFalse())

	s.stop()
	end(time.Minute)
	g.Eventually(func() error {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err == nil {
			_ = conn.Close()
		}
		return err
	}).Should(HaveOccurred(), "the port closes")

	resp, err = call()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.Close).To(BeTrue())
	g.Expect(<-s.result).To(Succeed(), "nothing is open any more: the time that clients have does not have to end")
}

// The server still answers a request that is open when the port closes.
func TestServerFinishesOpenRequests(t *testing.T) {
	g := NewWithT(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	s := startServer(t, func(rw http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		ok(rw, r)
	}, 0)
	codes := make(chan int, 1)
	go func() {
		resp, err := get(s.client(nil), s.url)
		if err != nil {
			t.Error(err)
			codes <- 0
			return
		}
		codes <- resp.StatusCode
	}()
	<-arrived
	s.stop()
	g.Eventually(func() error {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err == nil {
			_ = conn.Close()
		}
		return err
	}).Should(HaveOccurred(), "the port closes")
	close(release)
	g.Expect(<-codes).To(Equal(200))
	g.Expect(<-s.result).To(Succeed())
}
