package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// testServer is a Server under way.
type testServer struct {
	*Server
	url    string
	roots  *x509.CertPool
	stop   context.CancelFunc
	result chan error
}

// startServer serves the handler until the test ends.
func startServer(t *testing.T, handler http.HandlerFunc, delay time.Duration) *testServer {
	t.Helper()
	g := NewWithT(t)
	borrowed := httptest.NewTLSServer(nil)
	borrowed.Close()
	certificate := borrowed.TLS.Certificates[0]
	server, err := Listen("127.0.0.1:0", handler, func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }, delay, logr.Discard())
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	s := &testServer{Server: server, url: "https://" + server.Addr().String() + Path, roots: x509.NewCertPool(), stop: cancel, result: make(chan error, 1)}
	s.roots.AddCert(borrowed.Certificate())
	ended := make(chan struct{})
	go func() { s.result <- server.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

func (s *testServer) client(edit func(*tls.Config)) *http.Client {
	config := &tls.Config{RootCAs: s.roots}
	if edit != nil {
		edit(config)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
}

func ok(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "ok") }

func get(client *http.Client, url string) (*http.Response, error) {
	resp, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp, resp.Body.Close()
}

func TestServerTLSVersions(t *testing.T) {
	s := startServer(t, ok, 0)
	for name, tc := range map[string]struct {
		version uint16
		wantErr string
	}{
		"TLS 1.0": {tls.VersionTLS10, "tls: protocol version not supported"},
		"TLS 1.1": {tls.VersionTLS11, "tls: protocol version not supported"},
		"TLS 1.2": {tls.VersionTLS12, ""},
		"TLS 1.3": {tls.VersionTLS13, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := get(s.client(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tc.version, tc.version }), s.url)
			if tc.wantErr == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.wantErr)))
		})
	}
}

func TestServerSpeaksHTTP1Only(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t, ok, 0)
	for _, offer := range [][]string{{"h2", "http/1.1"}, {"http/1.1"}, nil} {
		conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: s.roots, NextProtos: offer})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(conn.ConnectionState().NegotiatedProtocol).To(BeElementOf("http/1.1", ""))
		g.Expect(conn.Close()).To(Succeed())
	}
	_, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: s.roots, NextProtos: []string{"h2"}})
	g.Expect(err).To(MatchError(ContainSubstring("no application protocol")))
	resp, err := get(s.client(nil), s.url)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.Proto).To(Equal("HTTP/1.1"))

	// HTTP/2 by prior knowledge, without ALPN, is no HTTP request.
	conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: s.roots})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	g.Expect(err).NotTo(HaveOccurred())
	answer, _ := io.ReadAll(conn)
	g.Expect(string(answer)).To(HavePrefix("HTTP/1.1 4"))
}

func TestServerServesOnePath(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t, ok, 0)
	for path, want := range map[string]int{"/validate": 200, "/": 404, "/validate/x": 404, "/metrics": 404, "/debug/pprof/": 404} {
		resp, err := get(s.client(nil), "https://"+s.Addr().String()+path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(resp.StatusCode).To(Equal(want), path)
	}
}

// After its context is done the server answers for the delay, asking each client for a new connection; then its port
// closes.
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

// An open connection may be used once more after the port has closed: an API server that is about to send a call on it
// cannot know, and does not try again.
func TestServerLeavesOpenConnectionsToTheirClients(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t, ok, time.Second)
	conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: s.roots})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = conn.Close() }()
	answers := bufio.NewReader(conn)
	call := func() (*http.Response, error) {
		if _, err := io.WriteString(conn, "GET "+Path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
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

// A call that is under way when the port closes is still answered.
func TestServerFinishesWhatIsUnderWay(t *testing.T) {
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

func TestServerPortInUse(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t, ok, 0)
	_, err := Listen(s.Addr().String(), http.NotFoundHandler(), nil, 0, logr.Discard())
	g.Expect(err).To(MatchError(HavePrefix("webhook server: listen tcp")))
}

// Every phase of a connection is bounded in time; waiting for it would take as long.
func TestServerTimeouts(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t, ok, 0)
	g.Expect(s.http.ReadHeaderTimeout).To(BeNumerically(">", 90*time.Second), "the API server may open a connection that it needs only then")
	g.Expect(s.http.ReadTimeout).To(BeZero(), "it would begin when the connection is opened; the body is bounded by Handler")
	g.Expect(s.http.WriteTimeout).To(BeNumerically(">", 30*time.Second), "the longest timeoutSeconds")
	g.Expect(s.http.IdleTimeout).To(BeNumerically(">", 90*time.Second), "the API server closes idle connections after that")
	g.Expect(s.http.MaxHeaderBytes).To(Equal(16 << 10))
}

// The same server with short times: a client that does not get on is cut off.
func TestServerCutsSlowClients(t *testing.T) {
	for name, tc := range map[string]struct{ sent string }{
		"no handshake":  {""},
		"half a header": {"POST /validate HTTP/1.1\r\nHost: x\r\nContent-"},
		"half a body":   {"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"},
		"chunks":        {"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			borrowed := httptest.NewTLSServer(nil)
			borrowed.Close()
			roots := x509.NewCertPool()
			roots.AddCert(borrowed.Certificate())
			handler := NewHandler(untouchedGate(t), NewMetrics(prometheus.NewRegistry()), logr.Discard())
			handler.body = 200 * time.Millisecond
			server, err := Listen("127.0.0.1:0", handler,
				func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &borrowed.TLS.Certificates[0], nil }, 0, logr.Discard())
			g.Expect(err).NotTo(HaveOccurred())
			server.http.ReadHeaderTimeout = 100 * time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- server.Run(ctx) }()
			defer func() { cancel(); g.Expect(<-ended).To(Succeed()) }()

			conn, err := net.Dial("tcp", server.Addr().String())
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = conn.Close() }()
			g.Expect(conn.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
			if tc.sent != "" {
				secure := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "example.com"})
				_, err = io.WriteString(secure, tc.sent)
				g.Expect(err).NotTo(HaveOccurred())
				conn = secure
			}
			_, err = io.ReadAll(conn) // ends only when the server closes the connection
			var slow net.Error
			g.Expect(errors.As(err, &slow) && slow.Timeout()).To(BeFalse(), "the server did not close: %v", err)
		})
	}
}

// untouchedGate fails the test when it is asked: half a body is no body.
func untouchedGate(t *testing.T) gateFunc {
	return func(context.Context, webhook.AdmissionRequest) webhook.AdmissionResponse {
		t.Error("half a request was judged")
		return webhook.AdmissionResponse{}
	}
}

func TestServerNoise(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"a probe that goes away":       {"http: TLS handshake error from 10.0.0.1:5000: EOF\n", ""},
		"a probe that resets":          {"http: TLS handshake error from 10.0.0.1:5000: read tcp 10.0.0.2:10250->10.0.0.1:5000: read: connection reset by peer\n", ""},
		"a caller that does not trust": {"http: TLS handshake error from 10.0.0.1:5000: remote error: tls: bad certificate\n", `"level"=0 "msg"="HTTP server" "detail"="http: TLS handshake error from 10.0.0.1:5000: remote error: tls: bad certificate"`},
		"another end of file":          {"http: proxy error: EOF\n", `"level"=0 "msg"="HTTP server" "detail"="http: proxy error: EOF"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			logged := ""
			log := funcr.New(func(_, args string) { logged += args }, funcr.Options{})
			n, err := noise{log: log, limit: rate.NewLimiter(rate.Inf, 1)}.Write([]byte(tc.line))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(n).To(Equal(len(tc.line)))
			g.Expect(logged).To(Equal(tc.want))
		})
	}
}

func TestServerNoiseIsBounded(t *testing.T) {
	g := NewWithT(t)
	lines := 0
	n := noise{log: funcr.New(func(_, _ string) { lines++ }, funcr.Options{}), limit: rate.NewLimiter(0, 10)}
	for range 1000 {
		_, err := n.Write([]byte("http: TLS handshake error from 10.0.0.1:5000: tls: first record does not look like a TLS handshake"))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(lines).To(Equal(10))
}
