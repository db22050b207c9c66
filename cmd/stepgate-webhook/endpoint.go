package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/webhook/server"
)

// endpoint is served over HTTP without TLS, for probes, metrics and Argo CD's UI.
type endpoint struct {
	flag    string // the flag that sets the address
	address string
	handler http.Handler
	// connections are how many may be open. Where there are more, those give way that are not used.
	connections int
}

const (
	// mostHeaders bounds the headers of a request, in bytes.
	mostHeaders = 64 << 10
	// mostConnections are for probes, and for metrics. A kubelet needs one, and each Prometheus one. Each may take
	// mostHeaders, and an answer of /metrics.
	mostConnections = 32
)

// serve serves the endpoint until ctx is done.
func (e endpoint) serve(ctx context.Context) error {
	if e.address == flags.Disabled {
		return nil
	}
	listener, err := net.Listen("tcp", e.address)
	if err != nil {
		return fmt.Errorf("%s: %w", e.flag, err)
	}
	served := &http.Server{
		Handler: e.handler, MaxHeaderBytes: mostHeaders, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute,
		IdleTimeout:  time.Minute,
	}
	stop := context.AfterFunc(ctx, func() { _ = served.Close() })
	defer stop()
	if err := served.Serve(server.Limit(served, listener, e.connections)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
