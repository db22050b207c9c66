// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	// writeTimeout is longer than the highest timeoutSeconds that a webhook can have, 30 s.
	writeTimeout = 35 * time.Second
	// idleTimeout is longer than the 90 s after which an API server closes an idle connection. The API server therefore
	// never sends a call on a connection that this server is closing. The same time is allowed for a request header: an
	// API server may open a connection for a call, send the call on another one that has become free, and keep the new
	// one for later. To net/http, such a connection is waiting for its header.
	idleTimeout = 2 * time.Minute
	maxHeader   = 16 << 10
)

// Options are what a Server serves.
type Options struct {
	// Address is the TCP address to listen on.
	Address string
	// Handlers are the admission handlers by their URL paths. The server answers 404 at any other path.
	Handlers map[string]admission.Handler
	// Wrap returns what is served in place of the HTTP handler of all Handlers, as for tracing; nil leaves it as it is.
	Wrap func(http.Handler) http.Handler
	// GetCertificate returns the serving certificate for a TLS handshake.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Clients may call.
	Clients Clients
	// ShutdownDelay is how long Run continues to serve after its context is done.
	ShutdownDelay time.Duration
	// Requests counts the answers of the handlers.
	Requests Counter
	Log      logr.Logger
}

// Server serves admission handlers over HTTPS: HTTP/1.1 only, TLS 1.2 or later. Every phase of a connection has a time
// limit; the handshake has writeTimeout. (controller-runtime's server limits neither reading nor writing.)
type Server struct {
	http     *http.Server
	listener net.Listener
	delay    time.Duration
	after    func(time.Duration) <-chan time.Time // time.After
	draining atomic.Bool
	open     atomic.Int64 // connections
}

// Listen opens the address. Run serves it.
func Listen(o Options) (*Server, error) {
	handler := NewHandler(o.Handlers, o.Requests, o.Log)
	if o.Wrap != nil {
		handler = o.Wrap(handler)
	}
	return listen(o, handler)
}

// listen serves any HTTP handler in place of the Handlers.
func listen(o Options, handler http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("webhook server: %w", err)
	}
	s := &Server{
		listener: newLimitedListener(listener, maxConnections, clock.RealClock{}), delay: o.ShutdownDelay, after: time.After,
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: o.GetCertificate}
	o.Clients.configure(config)
	s.http = &http.Server{
		Handler:           s.closeWhenDraining(handler),
		TLSConfig:         config,
		Protocols:         protocols,
		ReadHeaderTimeout: idleTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       withConnection,
		ConnState:         s.countConnections,
		ErrorLog:          log.New(logFilter{log: o.Log, limit: rate.NewLimiter(1, 10)}, "", 0),
	}
	return s, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }
