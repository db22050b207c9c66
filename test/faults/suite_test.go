// SPDX-License-Identifier: Apache-2.0

// Package faults breaks what is around two replicas of stepgate in enforce mode: their API server, their callers, their
// certificates and the processes themselves. Each test is one fault, and begins a row of test/results/faults.md with
// its number, F1 and so on: `go test ./test/faults -run F4_` runs one. Every test asserts the goals in trial.end, and
// the package prints a table. With -short there are fewer injections. -results DIR writes the table to DIR/faults.md.
package faults

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/report"
)

// replicas is how many there are.
const replicas = 2

// suite is shared by all faults.
type suite struct {
	*environment.Environment
	page *report.Page
	// proxies are between each replica and the API server.
	proxies []*faultproxy.APIProxy
	release *installed.Release
	writer  *load.Writer
	// generator writes through the API server, probe is for measuring the recovery, and quiet is written only by the
	// fault itself.
	generator    *load.Generator
	probe, quiet *load.Rollout
	memory       *installed.Memory
	rows         []*trial
}

var shared *suite

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(time.Minute)
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	results := report.Flag(flag.CommandLine)
	flag.Parse()
	page, err := results.Page(report.Suite{
		Name: "faults", Title: "everything around two replicas of stepgate breaks: is an answer wrong, and is all well afterwards?",
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	shared = &suite{page: page}
	os.Exit(environment.MainWith(m, environment.Options{End: shared.end}, func(e *environment.Environment) error {
		shared.Environment = e
		return shared.start(context.Background())
	}))
}

// start starts the replicas, each with a proxy to its API server, and creates the rollouts.
func (s *suite) start(ctx context.Context) error {
	var apis []string
	for range replicas {
		proxy, err := faultproxy.NewAPIProxy(s.Cluster)
		if err != nil {
			return err
		}
		s.proxies = append(s.proxies, proxy)
		apis = append(apis, proxy.URL())
	}
	var err error
	s.release, err = installed.Start(ctx, s.Environment, installed.Options{
		Registration: installed.Registration{Name: "stepgate"},
		// The Applications of the load have just been created. Nobody waits for that here, so that each denial is a
		// wrong one.
		Args: []string{"--shutdown-delay=2s", "--spec-settling=0", "--cert-leaf-duration=30s", "--cert-ca-duration=1h"},
	}, apis...)
	if err != nil {
		return err
	}
	s.memory = s.release.SampleMemory()
	if s.writer, err = load.NewWriter(s.Cluster, &load.Tally{}); err != nil {
		return err
	}
	if s.probe, err = s.writer.NewProbe(ctx, "probe"); err != nil {
		return err
	}
	if s.quiet, err = s.writer.NewRollout(ctx, "quiet"); err != nil {
		return err
	}
	s.generator, err = s.writer.NewGenerator(ctx, load.Options{Name: "load", Rollouts: 8, Rate: 16})
	return err
}

// all has every replica's API server behave like this.
func (s *suite) all(faults ...faultproxy.Fault) {
	for _, proxy := range s.proxies {
		proxy.Set(faults...)
	}
}

// count is how many requests of some kinds the API server got from all replicas.
func (s *suite) count(kinds ...string) int {
	n := 0
	for _, proxy := range s.proxies {
		n += proxy.Count(kinds...)
	}
	return n
}

// times is n, or less with -short.
func times(n int) int {
	if testing.Short() {
		return max(1, n/5)
	}
	return n
}

// pass lets a fault last for a time.
func pass(long time.Duration) { <-time.After(long) }
