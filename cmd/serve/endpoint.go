// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/webhook/server"
)

// Endpoint is served over HTTP without TLS, for probes, metrics and Argo CD's UI.
type Endpoint struct {
	// Flag is the one that sets Address.
	Flag    string
	Address string
	Handler http.Handler
	// Connections are how many may be open. Where there are more, those give way that are not used.
	Connections int
}

// Probes is the Endpoint of probes.
func Probes(e *flags.Endpoints, handler http.Handler) Endpoint {
	return Endpoint{
		Flag: "--health-probe-bind-address", Address: e.Probe, Handler: handler, Connections: mostConnections,
	}
}

// Metrics is the Endpoint of the metrics of a registry, and of those of client-go's calls and work queues that
// controller-runtime keeps.
func Metrics(e *flags.Endpoints, registry prometheus.Gatherer) Endpoint {
	return Endpoint{
		Flag: "--metrics-bind-address", Address: e.Metrics, Handler: metricsMux(registry, e.Profiling),
		Connections: mostConnections,
	}
}

const (
	// mostHeaders bounds the headers of a request, in bytes.
	mostHeaders = 64 << 10
	// mostConnections are for probes, and for metrics. A kubelet needs one, and each Prometheus one. Each may take
	// mostHeaders, and an answer of /metrics.
	mostConnections = 32
)

// Serve serves the endpoint until ctx is done.
func (e Endpoint) Serve(ctx context.Context) error {
	if e.Address == flags.Disabled {
		return nil
	}
	listener, err := net.Listen("tcp", e.Address)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Flag, err)
	}
	served := &http.Server{
		Handler: e.Handler, MaxHeaderBytes: mostHeaders, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute,
		IdleTimeout:  time.Minute,
	}
	stop := context.AfterFunc(ctx, func() { _ = served.Close() })
	defer stop()
	if err := served.Serve(server.Limit(served, listener, e.Connections)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
