// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	tracingapi "k8s.io/component-base/tracing/api/v1"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.17.0"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"

	"github.com/stepgate/stepgate/cmd/flags"
)

// tracer traces calls as the API server does: the caller decides whether a call is traced, or else the sampling rate.
// nil traces nothing.
type tracer struct{ tracing.TracerProvider }

// startTracer connects in the background; the tracer drops the spans that it cannot send. Without an endpoint there is
// none.
func startTracer(ctx context.Context, t *flags.Tracing, version string) (*tracer, error) {
	if t.Endpoint == "" {
		return nil, nil
	}
	log := logr.FromContextOrDiscard(ctx)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.V(1).Info("trace not sent", "problem", err.Error())
	}))
	provider, err := tracing.NewProvider(ctx, &tracingapi.TracingConfiguration{
		Endpoint: &t.Endpoint, SamplingRatePerMillion: &t.Rate,
	}, nil,
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
