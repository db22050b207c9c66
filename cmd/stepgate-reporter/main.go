// SPDX-License-Identifier: Apache-2.0

// Command stepgate-reporter tells people about rollouts, and answers stepgate's extension of Argo CD's UI. It admits
// nothing, and no sync waits for it: the gate is stepgate-webhook.
package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/command"
)

func main() { command.Main(run) }

// subCommands are all sub-commands.
func subCommands() []*cobra.Command { return []*cobra.Command{newServe(), command.NewVersion()} }

// newRoot is the program.
func newRoot() *cobra.Command {
	root := command.Root("stepgate-reporter", "Tells people about Argo CD's progressive syncs")
	root.AddCommand(subCommands()...)
	return root
}

// run executes a command line, which begins with the name of the program, and returns the exit code.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	return command.Execute(ctx, newRoot(), args[1:], streams, func(*cobra.Command) int { return command.ExitFailure })
}
