package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/stepgate/stepgate/cmd/flags"
)

// endpoint is served over HTTP without TLS, for probes, metrics and Argo CD's UI.
type endpoint struct {
	flag    string // the flag that sets the address
	address string
	handler http.Handler
	// connections are how many may be open; 0 is any number.
	connections int
}

// mostHeaders bounds the headers of a request, in bytes.
const mostHeaders = 64 << 10

// serve serves the endpoint until ctx is done.
func (e endpoint) serve(ctx context.Context) error {
	if e.address == flags.Disabled {
		return nil
	}
	listener, err := net.Listen("tcp", e.address)
	if err != nil {
		return fmt.Errorf("%s: %w", e.flag, err)
	}
	if e.connections > 0 {
		listener = netutil.LimitListener(listener, e.connections)
	}
	server := &http.Server{
		Handler: e.handler, MaxHeaderBytes: mostHeaders, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute,
		IdleTimeout:  time.Minute,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
