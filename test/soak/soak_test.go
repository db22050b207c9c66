// SPDX-License-Identifier: Apache-2.0

// Package soak runs three replicas of stepgate under load for minutes, while their certificates rotate or while they
// are restarted and killed. Each test prints one line with its figures. With -short the tests take half a minute each.
// -results DIR writes the figures to DIR/soak.md.
package soak

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/report"
)

const (
	// rollouts is how many operation writes are sent at once. It is more than the 25 idle connections that an API
	// server keeps to a webhook.
	rollouts = 32
	// rate is in operation writes a second.
	rate = 64
	// shutdownDelay is the replicas' --shutdown-delay.
	shutdownDelay = 2 * time.Second
)

// All tests share these.
var (
	shared  *environment.Environment
	results *report.Results
)

func TestMain(m *testing.M) {
	results = report.Flag(flag.CommandLine)
	flag.Parse()
	if err := results.Check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(environment.Main(m, func(e *environment.Environment) error { shared = e; return nil }))
}

// soak is one release under load.
type soak struct {
	*WithT
	t       *report.Test
	ctx     context.Context
	page    *report.Page
	release *installed.Release
	writer  *load.Writer
}

// start starts three replicas with these flags, until the test ends. The test writes this section of the page.
func start(t *testing.T, section string, args ...string) *soak {
	t.Helper()
	test := &report.Test{T: t}
	s := &soak{WithT: NewWithT(test), t: test, ctx: t.Context()}
	var err error
	s.page, err = results.Page(report.Suite{
		Name: "soak", Title: "three replicas of stepgate under load, while certificates rotate and while replicas restart: does a call fail?", Section: section,
	})
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { NewWithT(t).Expect(s.page.Close(test.Reason())).To(Succeed()) })
	name := "stepgate-" + strings.ToLower(t.Name())
	s.release, err = installed.Start(s.ctx, shared, installed.Options{
		Registration: installed.Registration{Name: name}, Args: append(args, "--shutdown-delay="+shutdownDelay.String(), "--spec-settling=0"),
	}, "", "", "")
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { s.Expect(s.release.Stop(context.WithoutCancel(s.ctx))).To(Succeed()) })
	s.writer, err = load.NewWriter(shared.Cluster, &load.Tally{})
	s.Expect(err).NotTo(HaveOccurred())
	_, err = s.writer.NewProbe(s.ctx, name+"-probe")
	s.Expect(err).NotTo(HaveOccurred())
	return s
}

// measured is the load that went on during a part of a test.
type measured struct {
	*load.Tally
	took        time.Duration
	connections int
}

// String are its figures.
func (m measured) String() string {
	return fmt.Sprintf("%s connections=%d rate=%.0f/s took=%s", m.Tally, m.connections,
		float64(m.Calls())/m.took.Seconds(), m.took.Round(time.Second))
}

// during sends writes while work runs, in namespaces of this name.
func (s *soak) during(name string, work func(*load.Tally)) measured {
	s.t.Helper()
	m := measured{Tally: &load.Tally{}}
	s.writer.Count(m.Tally)
	generator, err := s.writer.NewGenerator(s.ctx, load.Options{Name: name, Rollouts: rollouts, Rate: rate})
	s.Expect(err).NotTo(HaveOccurred())
	began, connections := time.Now(), s.release.Balancer.Connections()
	generator.During(s.ctx, func() { work(m.Tally) })
	m.took, m.connections = time.Since(began), s.release.Balancer.Connections()-connections
	for _, f := range m.Failures() {
		s.t.Logf("failed at %s after %s: %v", f.Ended.Format("15:04:05.000"), f.Ended.Sub(f.Began).Round(time.Millisecond),
			f.Err)
	}
	return m
}

// full returns the number of the full test, or the number of the short one.
func full(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}
