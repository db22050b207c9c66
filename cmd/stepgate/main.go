// Command stepgate is an admission webhook that enforces the order of Argo CD's progressive syncs.
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

// usageError is a mistake in the command line. Its text is one line that names the mistake.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// subCommands are all sub-commands. Each has its own file.
func subCommands() []*cobra.Command {
	return []*cobra.Command{newServe(), newSelfTest(), newVersion()}
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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{fmt.Sprintf("%s; see %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(subCommands()...)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	// Print one line, even if the error has several.
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
