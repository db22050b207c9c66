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
	s := startServer(t, ok, 500*time.Millisecond)
	client := s.client(nil)
	resp, err := get(client, s.url)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.Close).To(BeFalse())
	g.Expect(s.Draining()).To(BeFalse())

	stopped := time.Now()
	s.stop()
	g.Eventually(s.Draining).Should(BeTrue())
	for range 3 {
		resp, err = get(client, s.url)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(resp.StatusCode).To(Equal(200))
		g.Expect(resp.Close).To(BeTrue(), "Connection: close")
	}
	g.Expect(<-s.result).To(Succeed())
	g.Expect(time.Since(stopped)).To(BeNumerically(">=", 500*time.Millisecond))
	_, err = net.Dial("tcp", s.Addr().String())
	g.Expect(errors.Is(err, syscall.ECONNREFUSED)).To(BeTrue(), "%v", err)
}

// A client may use an open connection once more after the port has closed: an API server that is about to send a call on it
// cannot know that, and does not retry.
func TestServerLeavesOpenConnectionsToTheirClients(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t, ok, time.Second)
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
	g.Eventually(func() error {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err == nil {
			_ = conn.Close()
		}
		return err
	}, "5s").Should(HaveOccurred(), "the port closes")

	resp, err = call()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.Close).To(BeTrue())
	called := time.Now()
	g.Expect(<-s.result).To(Succeed())
	g.Expect(time.Since(called)).To(BeNumerically("<", time.Second), "nothing is open any more")
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
