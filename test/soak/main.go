// Command soak runs three replicas of stepgate behind a TCP balancer on a real etcd and kube-apiserver, writes operations
// all the time, and meanwhile rotates their certificates (certs) or restarts and kills them (restarts). It prints one
// line for each soak, and fails when a goal is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	rate     float64
	rollouts int
	calls    int
	// caRotations and leafRotations, restarts and kills are how many there are to be at least.
	caRotations, leafRotations int
	restarts, kills            int
	shutdownDelay              time.Duration
}

func main() {
	var o options
	flag.Float64Var(&o.rate, "rate", 64, "operation writes a second")
	flag.IntVar(&o.rollouts, "rollouts", 32, "how many are sent at once, each of an ApplicationSet of its own")
	flag.IntVar(&o.calls, "calls", 10000, "operation writes at least")
	flag.IntVar(&o.caRotations, "ca-rotations", 20, "certs: new CAs")
	flag.IntVar(&o.leafRotations, "leaf-rotations", 100, "certs: new serving certificates at least")
	flag.IntVar(&o.restarts, "restarts", 20, "restarts: rolling restarts, each of all replicas")
	flag.IntVar(&o.kills, "kills", 20, "restarts: replicas ended by SIGKILL")
	flag.DurationVar(&o.shutdownDelay, "shutdown-delay", 2*time.Second, "restarts: --shutdown-delay of the replicas")
	flag.Parse()
	soaks := map[string]func(context.Context, *stand, options) error{"certs": soakCerts, "restarts": soakRestarts}
	soak, ok := soaks[flag.Arg(0)]
	if !ok || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: soak [flags] certs|restarts")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, soak)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "soak-%s: %v\n", flag.Arg(0), err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, soak func(context.Context, *stand, options) error) (err error) {
	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return soak(ctx, s, o)
}

// progress tells on stderr what is going on.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "soak: %s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// goals collects what was missed.
type goals []string

func (g *goals) require(reached bool, format string, args ...any) {
	if !reached {
		*g = append(*g, fmt.Sprintf(format, args...))
	}
}

func (g *goals) err() error {
	if len(*g) == 0 {
		return nil
	}
	return errors.New("missed: " + strings.Join(*g, "; "))
}
