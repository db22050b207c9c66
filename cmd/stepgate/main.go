// Command stepgate is a validating admission webhook that keeps the order of Argo CD's progressive syncs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake in the command line: one line that says what is wrong.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// run executes a command line and returns the exit code: 0, 1 when stepgate failed, 2 for a bad command line.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "stepgate",
		Short:         "Keeps the order of Argo CD's progressive syncs",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return &usageError{"stepgate needs a sub-command; see " + cmd.CommandPath() + " --help"}
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err.Error()} })
	root.AddCommand(newServe(), newSelfTest(), newVersion())
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	// One line, whatever the error holds.
	_, _ = fmt.Fprintln(stderr, "stepgate: "+strings.ReplaceAll(err.Error(), "\n", " "))
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Sprintf("unexpected argument %q; see %s --help", args[0], cmd.CommandPath())}
	}
	return nil
}
