// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Exit codes. The commands that answer questions keep 1 for an answer: something waits, or was found.
const (
	ExitFailure = 1 // of the commands that run stepgate
	ExitFound   = 1
	ExitUsage   = 2
	ExitError   = 2 // of the commands that answer questions
)

// UsageError is a mistake in the command line. Its text is one line that names the mistake.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

// Usage is a UsageError with a formatted text.
func Usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// ErrFound says that a command has answered, and that the answer is not "all is well". It has printed the answer.
var ErrFound = errors.New("found")

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage("unexpected argument %q; see %s --help", args[0], cmd.CommandPath())
	}
	return nil
}

// Root is the command of a program without a sub-command.
func Root(name, short string) *cobra.Command {
	root := &cobra.Command{
		Use: name, Short: short, SilenceErrors: true, SilenceUsage: true, Args: unknownOrNoArgs,
		Version: ThisBuild().String(), Example: "  stepgate version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return Usage("%s needs a sub-command; see %s --help", name, cmd.CommandPath())
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Usage("%s; see %s --help", flagMistake(err), cmd.CommandPath())
	})
	return root
}

// flagMistake is a mistake in a flag, without the words of the library that parses its value.
func flagMistake(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	wanted := ""
	switch kind := invalid.GetFlag().Value.Type(); {
	case strings.HasPrefix(kind, "int"):
		wanted = "a whole number"
	case strings.HasPrefix(kind, "uint"):
		wanted = "a whole number that is not negative"
	case kind == "duration":
		wanted = "a duration such as 30s, 5m or 1h"
	case kind == "bool":
		wanted = "true or false"
	default:
		return err.Error()
	}
	return strings.TrimSuffix(err.Error(), errors.Unwrap(err).Error()) + "it has to be " + wanted
}

// Run executes a command line, which begins with the name of the program, and returns the exit code.
type Run func(ctx context.Context, args []string, streams genericiooptions.IOStreams) int

// Main runs a program with the arguments of the process, until it ends or is told to, and exits.
func Main(run Run) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := run(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	stop()
	os.Exit(code)
}

// Execute executes a command line without the name of the program, and returns the exit code. failed is the one of an
// error of a sub-command. It prints an error as one line.
func Execute(
	ctx context.Context, root *cobra.Command, args []string, streams genericiooptions.IOStreams,
	failed func(*cobra.Command) int,
) int {
	root.AddCommand(newReference())
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	Complete(root, args)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrFound):
		return ExitFound
	}
	_, _ = fmt.Fprintln(streams.ErrOut, root.Name()+": "+strings.ReplaceAll(err.Error(), "\n", " "))
	var usage *UsageError
	if errors.As(err, &usage) {
		return ExitUsage
	}
	return failed(cmd)
}
