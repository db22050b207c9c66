// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// testServer is a running Server.
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
	options, roots := testOptions(delay)
	mux := http.NewServeMux()
	mux.Handle(path, handler)
	server, err := listen(options, mux)
	g.Expect(err).NotTo(HaveOccurred())
	return run(t, server, roots)
}

// testOptions are those of a server on a port of its own. The certificate is valid for example.com and 127.0.0.1.
func testOptions(delay time.Duration) (Options, *x509.CertPool) {
	borrowed := httptest.NewTLSServer(nil)
	borrowed.Close()
	roots := x509.NewCertPool()
	roots.AddCert(borrowed.Certificate())
	return Options{
		Address: "127.0.0.1:0", ShutdownDelay: delay, Log: logr.Discard(),
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &borrowed.TLS.Certificates[0], nil },
	}, roots
}

// run runs the server until the test ends.
func run(t *testing.T, server *Server, roots *x509.CertPool) *testServer {
	ctx, cancel := context.WithCancel(t.Context())
	s := &testServer{
		Server: server, url: "https://" + server.Addr().String() + path, roots: roots, stop: cancel, result: make(chan error, 1),
	}
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

// Each path has one handler; any other path is unknown.
func TestServerServesEachPathWithItsHandler(t *testing.T) {
	g := NewWithT(t)
	requests := counts{}
	options, roots := testOptions(0)
	options.Requests = requests
	options.Handlers = map[string]admission.Handler{
		"/validate": answering(admission.Denied("by validate")), "/mutate": answering(admission.Denied("by mutate")),
	}
	server, err := Listen(options)
	g.Expect(err).NotTo(HaveOccurred())
	client := run(t, server, roots).client(nil)
	for path, want := range map[string]string{
		"/validate": "by validate", "/validate?timeout=5s": "by validate", "/mutate": "by mutate",
		"/": "", "/validate/": "", "/validate/x": "", "/Validate": "", "/metrics": "", "/debug/pprof/": "",
	} {
		resp, err := client.Post("https://"+server.Addr().String()+path, "application/json", strings.NewReader(good))
		g.Expect(err).NotTo(HaveOccurred())
		body, err := io.ReadAll(resp.Body)
		g.Expect(err).NotTo(HaveOccurred())
		if want == "" {
			g.Expect(resp.StatusCode).To(Equal(404), path)
			continue
		}
		g.Expect(resp.StatusCode).To(Equal(200), path)
		g.Expect(string(body)).To(ContainSubstring(want), path)
	}
	g.Expect(requests).To(Equal(counts{"/validate 200": 2, "/mutate 200": 1}), "unknown paths are not counted")
}

func TestServerPortInUse(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t, ok, 0)
	_, err := Listen(Options{Address: s.Addr().String()})
	g.Expect(err).To(MatchError(HavePrefix("webhook server: listen tcp")))
}

// Every phase of a connection is bounded in time; waiting for it would take as long.
func TestServerTimeouts(t *testing.T) {
	g := NewWithT(t)
	s := startServer(t, ok, 0)
	g.Expect(s.http.ReadHeaderTimeout).To(BeNumerically(">", 90*time.Second),
		"the API server may open a connection that it needs only then")
	g.Expect(s.http.ReadTimeout).To(BeZero(),
		"it would begin when the connection is opened; the body has a limit of its own")
	g.Expect(s.http.WriteTimeout).To(BeNumerically(">", 30*time.Second), "the longest timeoutSeconds")
	g.Expect(s.http.IdleTimeout).To(BeNumerically(">", 90*time.Second),
		"the API server closes idle connections after that")
	g.Expect(s.http.MaxHeaderBytes).To(Equal(16 << 10))
}

// The same server with short times: it closes the connection of a slow client.
func TestServerCutsSlowClients(t *testing.T) {
	for name, tc := range map[string]struct{ sent string }{
		"no handshake":  {""},
		"half a header": {"POST /validate HTTP/1.1\r\nHost: x\r\nContent-"},
		"half a body":   {"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"},
		"chunks":        {"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			options, roots := testOptions(0)
			e := newEndpoint()
			e.handler, e.bodyTimeout = untouched(t), 200*time.Millisecond
			server, err := listen(options, e)
			g.Expect(err).NotTo(HaveOccurred())
			server.http.ReadHeaderTimeout = 100 * time.Millisecond
			run(t, server, roots)

			conn, err := net.Dial("tcp", server.Addr().String())
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = conn.Close() }()
			g.Expect(conn.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
			if tc.sent != "" {
				secure := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "example.com"})
				_, _ = io.WriteString(secure, tc.sent) // on a slow machine, the server closes before the handshake is over
				conn = secure
			}
			_, err = io.ReadAll(conn) // ends only when the server closes the connection
			var slow net.Error
			g.Expect(errors.As(err, &slow) && slow.Timeout()).To(BeFalse(), "the server did not close: %v", err)
		})
	}
}

// untouched fails the test when it is called: half a body is no request.
func untouched(t *testing.T) admission.HandlerFunc {
	return func(context.Context, admission.Request) admission.Response {
		t.Error("the handler was called")
		return admission.Response{}
	}
}
