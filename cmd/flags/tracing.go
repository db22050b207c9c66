// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/cmd/command"
)

// mostSampled is a sampling rate per million that takes every call.
const mostSampled = 1_000_000

// Tracing says where traces go, and of which calls.
type Tracing struct {
	Endpoint string
	Rate     int32
}

func (t *Tracing) bind(f *pflag.FlagSet) {
	f.StringVar(&t.Endpoint, "tracing-endpoint", "",
		"HOST:PORT of an OpenTelemetry collector that takes traces by OTLP over gRPC without TLS; if empty, stepgate does "+
			"not trace")
	f.Int32Var(&t.Rate, "tracing-sampling-rate-per-million", 0,
		"how many of a million calls stepgate traces that the API server does not trace; it always traces with the API "+
			"server")
}

func (t *Tracing) validate() error {
	if t.Endpoint != "" && !isAddress(t.Endpoint) {
		return command.Usage("--tracing-endpoint: %q is not HOST:PORT", t.Endpoint)
	}
	if t.Rate < 0 || t.Rate > mostSampled {
		return command.Usage("--tracing-sampling-rate-per-million: %d is not between 0 and %d", t.Rate, mostSampled)
	}
	if t.Rate > 0 && t.Endpoint == "" {
		return command.Usage("--tracing-sampling-rate-per-million needs --tracing-endpoint")
	}
	return nil
}
