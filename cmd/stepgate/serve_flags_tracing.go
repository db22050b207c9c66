package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
)

// mostSampled is a sampling rate per million that takes every call.
const mostSampled = 1_000_000

// tracingFlags say where traces go, and of which calls.
type tracingFlags struct {
	endpoint string
	rate     int32
}

func (t *tracingFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&t.endpoint, "tracing-endpoint", "", "HOST:PORT of an OpenTelemetry collector that takes traces by OTLP over gRPC without TLS; if empty, stepgate does not trace")
	f.Int32Var(&t.rate, "tracing-sampling-rate-per-million", 0, "how many of a million calls stepgate traces that the API server does not trace; it always traces with the API server")
}

func (t *tracingFlags) validate() error {
	if t.endpoint != "" && !isAddress(t.endpoint) {
		return &usageError{fmt.Sprintf("--tracing-endpoint: %q is not HOST:PORT", t.endpoint)}
	}
	if t.rate < 0 || t.rate > mostSampled {
		return &usageError{fmt.Sprintf("--tracing-sampling-rate-per-million: %d is not between 0 and %d", t.rate, mostSampled)}
	}
	if t.rate > 0 && t.endpoint == "" {
		return &usageError{"--tracing-sampling-rate-per-million needs --tracing-endpoint"}
	}
	return nil
}

// tracer traces calls as the API server does: the caller decides whether a call is traced, or else the sampling rate. nil traces nothing.
type tracer struct{ tracing.TracerProvider }

// start connects in the background; the tracer drops the spans that it cannot send. Without an endpoint there is none.
func (t *tracingFlags) start(ctx context.Context, version string) (*tracer, error) {
	if t.endpoint == "" {
		return nil, nil
	}
	log := logr.FromContextOrDiscard(ctx)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.V(1).Info("trace not sent", "problem", err.Error()) }))
	provider, err := tracing.NewProvider(ctx, &tracingapi.TracingConfiguration{Endpoint: &t.endpoint, SamplingRatePerMillion: &t.rate}, nil,
		[]resource.Option{resource.WithAttributes(semconv.ServiceName("stepgate"), semconv.ServiceVersion(version))})
	if err != nil {
		return nil, fmt.Errorf("--tracing-endpoint: %w", err)
	}
	return &tracer{provider}, nil
}

// serve traces the calls that a handler serves.
func (t *tracer) serve(handler http.Handler) http.Handler {
	if t == nil {
		return handler
	}
	return tracing.WithTracing(handler, t, "webhook")
}

// call traces the calls of a client.
func (t *tracer) call(config *rest.Config) {
	if t != nil {
		config.Wrap(tracing.WrapperFor(t))
	}
}

// flushTime is how long the last spans may take.
const flushTime = 5 * time.Second

// stop sends what is left.
func (t *tracer) stop(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	_ = t.Shutdown(ctx) // the spans are lost, and nothing else
}
