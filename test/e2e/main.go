// Command e2e rolls changes out through the real Argo CD, without stepgate, with it, and in its audit mode, and has an
// observer of its own judge the order. `make e2e` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	scenarios string
	modes     string
	quick     bool
	parallel  int
	keep      string
}

func main() {
	var o options
	flag.StringVar(&o.scenarios, "scenarios", "", "keys, or beginnings of keys, of the scenarios to play; all when empty")
	flag.StringVar(&o.modes, "modes", "off,on,audit", "how to play each: off, on, audit")
	flag.BoolVar(&o.quick, "quick", false, "play only the subset that CI runs")
	flag.IntVar(&o.parallel, "parallel", 3, "how many scenarios to play at a time")
	flag.StringVar(&o.keep, "keep", "", "folder to copy the logs to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
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
	for _, m := range strings.Split(o.modes, ",") {
		modes = append(modes, mode(m))
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	s, err := newStand(ctx, root, modes)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := s.stop(); err == nil {
			err = stopErr
		}
	}()
	fmt.Printf("Argo CD is up after %.0fs\n", time.Since(began).Seconds())
	outcomes, err := s.playParts(ctx, chosen, modes, o.parallel)
	if err != nil {
		return err
	}
	if o.keep != "" {
		if err := s.keep(o.keep); err != nil {
			return err
		}
	}
	return report(s, chosen, outcomes)
}
