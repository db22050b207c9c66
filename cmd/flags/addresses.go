// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"net"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/cmd/command"
)

// Disabled is the address of an endpoint that is not served.
const Disabled = "0"

// Addresses say where the webhook listens, and for how long.
type Addresses struct {
	Webhook       string
	ShutdownDelay time.Duration
}

func (a *Addresses) bind(f *pflag.FlagSet) {
	f.StringVar(&a.Webhook, "webhook-bind-address", ":10250", "address of the webhook (HTTPS)")
	f.DurationVar(&a.ShutdownDelay, "shutdown-delay", 10*time.Second,
		"how long stepgate still serves, and reports that it is not ready, after SIGTERM")
}

func (a *Addresses) validate() error {
	if !isAddress(a.Webhook) {
		return notAddress("--webhook-bind-address", a.Webhook)
	}
	if a.ShutdownDelay < 0 {
		return command.Usage("--shutdown-delay: it cannot be negative")
	}
	return nil
}

// Endpoints say where metrics and probes are served.
type Endpoints struct {
	Metrics   string
	Probe     string
	Profiling bool
}

func (e *Endpoints) bind(f *pflag.FlagSet) {
	f.StringVar(&e.Metrics, "metrics-bind-address", ":8080", "address of /metrics (HTTP); 0 disables it")
	f.BoolVar(&e.Profiling, "profiling", false,
		"serve Go's profiles at /debug/pprof/ of the address of /metrics, to everybody who reaches it")
	f.StringVar(&e.Probe, "health-probe-bind-address", ":8081", "address of /healthz and /readyz (HTTP); 0 disables it")
}

func (e *Endpoints) validate() error {
	if e.Metrics != Disabled && !isAddress(e.Metrics) {
		return notAddress("--metrics-bind-address", e.Metrics)
	}
	if e.Probe != Disabled && !isAddress(e.Probe) {
		return notAddress("--health-probe-bind-address", e.Probe)
	}
	return nil
}

func notAddress(flag, address string) error {
	return command.Usage("%s: %q is not HOST:PORT or :PORT", flag, address)
}

func isAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}
