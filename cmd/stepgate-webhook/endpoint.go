package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/stepgate/stepgate/cmd/flags"
)

// endpoint is served over HTTP without TLS, for probes and metrics.
type endpoint struct {
	flag    string // the flag that sets the address
	address string
	handler http.Handler
}

// serve serves the endpoint until ctx is done.
func (e endpoint) serve(ctx context.Context) error {
	if e.address == flags.Disabled {
		return nil
	}
	listener, err := net.Listen("tcp", e.address)
	if err != nil {
		return fmt.Errorf("%s: %w", e.flag, err)
	}
	server := &http.Server{
		Handler: e.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
