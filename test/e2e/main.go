// Command e2e rolls changes out through the real Argo CD, without stepgate, with it, and in its audit mode, and has an
// observer of its own judge the order. `make e2e` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stepgate/stepgate/test/argocd"
)

// options are the flags.
type options struct {
	scenarios string
	modes     string
	argocd    string
	quick     bool
	parallel  int
	loop      bool
	lasting   time.Duration
	demo      bool
	keep      string
}

func main() {
	var o options
	flag.StringVar(&o.scenarios, "scenarios", "", "keys, or beginnings of keys, of the scenarios to play; all when empty")
	flag.StringVar(&o.modes, "modes", "off,on,audit", "how to play each: off, on, audit")
	flag.StringVar(&o.argocd, "argocd", argocd.Versions()[0], "version of Argo CD: "+strings.Join(argocd.Versions(), ", "))
	flag.BoolVar(&o.quick, "quick", false, "play only the subset that CI runs")
	flag.BoolVar(&o.loop, "loop", false, "measure also the writes that a lasting denial makes the ApplicationSet controller send")
	flag.DurationVar(&o.lasting, "lasting", time.Minute, "how long --loop watches each of its two denials")
	flag.BoolVar(&o.demo, "demo", false, "play one rollout without the gate and with it, and show both as timelines")
	flag.IntVar(&o.parallel, "parallel", 3, "how many ApplicationSets to install at a time")
	flag.StringVar(&o.keep, "keep", "", "folder to copy the logs to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	began := time.Now()
	chosen, err := choose(o.scenarios, o.quick)
	if err != nil {
		return err
	}
	var modes []mode
	for m := range strings.SplitSeq(o.modes, ",") {
		if !slices.Contains([]mode{off, on, audit}, mode(m)) {
			return fmt.Errorf("--modes: %q is not one of off, on, audit", m)
		}
		modes = append(modes, mode(m))
	}
	started := slices.Clone(modes)
	for _, sc := range chosen {
		for _, m := range sc.in(modes) {
			if !slices.Contains(started, m) {
				started = append(started, m)
			}
		}
	}
	if o.loop {
		started = append(started, lasting)
	}
	if o.demo {
		started = []mode{off, on}
	}
	fmt.Println("starting etcd, kube-apiserver, Argo CD and stepgate (about half a minute)")
	s, err := start(ctx, o.argocd, started)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	fmt.Printf("all up after %.0fs\n", time.Since(began).Seconds())
	if o.keep != "" {
		defer func() { err = errors.Join(err, s.keep(o.keep)) }()
	}
	if o.demo {
		return demo(ctx, s)
	}
	outcomes, err := player{s, modes, o.parallel}.playAll(ctx, chosen)
	if err != nil {
		return err
	}
	if o.loop {
		if err := s.measureLasting(ctx, o.lasting); err != nil {
			return fmt.Errorf("lasting denials: %w", err)
		}
	}
	return printReport(s, chosen, outcomes)
}
