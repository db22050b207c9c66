package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// inside is the first argument of the process that runs in the namespaces.
const inside = "inside"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-node:", err)
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
	if err := f.Parse(args); err != nil {
		return err
	}
	return isolate(ctx, *keep)
}
