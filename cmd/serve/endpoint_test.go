// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/flags"
)

var teapot = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })

func TestEndpointIsServedUntilTheEnd(t *testing.T) {
	g := NewWithT(t)
	address := free(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Endpoint{Address: address, Handler: teapot, Connections: 1}.Serve(ctx) }()

	g.Eventually(func(g Gomega) {
		response, err := http.Get("http://" + address + "/")
		g.Expect(err).NotTo(HaveOccurred())
		_, err = io.Copy(io.Discard, response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(response.StatusCode).To(Equal(http.StatusTeapot))
	}).Should(Succeed())
	cancel()
	g.Eventually(done).Should(Receive(BeNil()))
}

func TestEndpointThatIsDisabled(t *testing.T) {
	NewWithT(t).Expect(Endpoint{Address: flags.Disabled, Handler: teapot}.Serve(t.Context())).To(Succeed())
}

func TestEndpointNamesItsFlag(t *testing.T) {
	g := NewWithT(t)
	e := Endpoint{Flag: "--metrics-bind-address", Address: listen(t), Handler: teapot}
	g.Expect(e.Serve(t.Context())).To(MatchError(And(HavePrefix("--metrics-bind-address: listen tcp "),
		HaveSuffix("address already in use"))))
}

// TestIdleConnectionsGiveWay opens connections to an endpoint that has more than it may have, as a kubelet's and
// Prometheus' calls come. Half of them have had an answer.
func TestIdleConnectionsGiveWay(t *testing.T) {
	g := NewWithT(t)
	address := free(t)
	go func() {
		_ = Endpoint{Address: address, Handler: teapot, Connections: mostConnections}.Serve(t.Context())
	}()
	var idle []net.Conn
	for i := range 4 * mostConnections {
		var conn net.Conn
		g.Eventually(func() (err error) {
			conn, err = net.Dial("tcp", address)
			return err
		}).Should(Succeed())
		t.Cleanup(func() { _ = conn.Close() })
		idle = append(idle, conn)
		if i%2 == 0 {
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			g.Expect(err).NotTo(HaveOccurred())
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.StatusCode).To(Equal(http.StatusTeapot))
		}
	}
	open := 0
	for _, conn := range idle {
		g.Expect(conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))).To(Succeed())
		if _, err := conn.Read(make([]byte, 1)); os.IsTimeout(err) {
			open++
		}
	}
	g.Expect(open).To(BeNumerically("~", 3*mostConnections/4, 1), "as many as one address may have")
}

// free is an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listener.Close()).To(Succeed())
	return listener.Addr().String()
}

// listen returns an address that is in use until the end of the test.
func listen(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(listener.Close()).To(Succeed()) })
	return listener.Addr().String()
}
