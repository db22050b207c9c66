package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/stepgate/stepgate/test/report"
)

// program is how errors begin.
const program = "e2e-node"

// inside is the first argument of the process that runs in the namespaces.
const inside = "inside"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}

// run runs the command outside the namespaces, which runs itself inside.
func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == inside {
		return play(ctx, args[1])
	}
	f := flag.NewFlagSet("node", flag.ContinueOnError)
	keep := f.String("keep", "", "the `folder` that the logs of all programs are copied to")
	results := report.Flag(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	page, err := results.Page(report.Suite{Name: "node", Title: "the chart on two nodes with real kubelets, beside the real Argo CD"})
	if err != nil {
		return err
	}
	err = errors.Join(isolate(ctx, *keep, page), ctx.Err())
	return errors.Join(err, page.Close(err))
}
