// SPDX-License-Identifier: Apache-2.0

// Command stepgate is the command line that tells what holds a rollout of Argo CD, and acts on it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/selftest"
)

func main() { command.Main(run) }

// The groups of sub-commands.
const (
	groupAsk = "ask"
	groupAct = "act"
)

// subCommands are all sub-commands. Each has its own file.
func subCommands(streams genericiooptions.IOStreams) []*cobra.Command {
	ask := []*cobra.Command{
		newAudit(streams), newHistory(streams), newGet(streams), newExplain(streams), newWait(streams), newLint(streams),
		newSimulate(streams), newDoctor(streams), newDashboard(streams),
	}
	act := []*cobra.Command{newPause(streams), newResume(streams), newApprove(streams)}
	for _, c := range ask {
		c.GroupID = groupAsk
	}
	for _, c := range act {
		c.GroupID = groupAct
	}
	return slices.Concat(ask, act, []*cobra.Command{selftest.NewCommand(), command.NewVersion()})
}

// newRoot is the program by the name by which it was called.
func newRoot(program string, streams genericiooptions.IOStreams) *cobra.Command {
	root := command.Root("stepgate", "Tells what holds a rollout of Argo CD, and acts on it")
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: calledAs(program)}
	root.Example = "  stepgate audit -A\n  stepgate get -A\n  stepgate doctor --emergency"
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.PersistentPreRunE = filesAreFlags
	root.AddGroup(&cobra.Group{
		ID: groupAsk, Title: "Ask about rollouts:",
	}, &cobra.Group{ID: groupAct, Title: "Act on rollouts:"})
	root.AddCommand(subCommands(streams)...)
	return root
}

// run executes a command line, which begins with the name of the program, and returns the exit code.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	return command.Execute(ctx, newRoot(args[0], streams), args[1:], streams, func(cmd *cobra.Command) int {
		if cmd.GroupID == "" {
			return command.ExitFailure
		}
		return command.ExitError
	})
}

// filesAreFlags refuses the name of a file where a command takes names of ApplicationSets, and files by -f.
func filesAreFlags(cmd *cobra.Command, args []string) error {
	if f := cmd.Flags().Lookup("filename"); f == nil || f.Changed {
		return nil
	}
	for _, arg := range args {
		isFile := slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(arg))
		if isFile || arg == "." || strings.Contains(arg, "/") {
			return command.Usage("%q is a file and not the name of an ApplicationSet; did you mean %s -f %s?", arg,
				cmd.CommandPath(), arg)
		}
	}
	return nil
}

// fileMeant is a hint at a file or directory that was given without -f. It may have the name of an ApplicationSet, so
// this is asked after the cluster.
func fileMeant(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup("filename"); f == nil || f.Changed {
		return ""
	}
	for _, arg := range cmd.Flags().Args() {
		if _, err := os.Stat(arg); err == nil {
			return fmt.Sprintf("; %s is a file or directory here: did you mean %s -f %s?", arg, cmd.CommandPath(), arg)
		}
	}
	return ""
}

// calledAs is the name by which the program was called: kubectl and argocd run plugins by the names of their files.
func calledAs(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if host, isPlugin := strings.CutSuffix(name, "-stepgate"); isPlugin && (host == "kubectl" || host == "argocd") {
		return host + " stepgate"
	}
	return "stepgate"
}
