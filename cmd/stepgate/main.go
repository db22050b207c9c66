// Command stepgate is the command line that tells what holds a rollout of Argo CD, and acts on it.
package main

import (
	"context"
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
		newAudit(streams), newGet(streams), newExplain(streams), newWait(streams), newLint(streams), newSimulate(streams),
		newDoctor(streams),
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

// run executes a command line, which begins with the name of the program, and returns the exit code.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	root := command.Root("stepgate", "Tells what holds a rollout of Argo CD, and acts on it")
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: calledAs(args[0])}
	root.AddGroup(&cobra.Group{
		ID: groupAsk, Title: "Ask about rollouts:",
	}, &cobra.Group{ID: groupAct, Title: "Act on rollouts:"})
	for _, cmd := range subCommands(streams) {
		cmd.Example = strings.ReplaceAll(cmd.Example, "  stepgate ", "  "+calledAs(args[0])+" ")
		root.AddCommand(cmd)
	}
	return command.Execute(ctx, root, args[1:], streams, func(cmd *cobra.Command) int {
		if cmd.GroupID == "" {
			return command.ExitFailure
		}
		return command.ExitError
	})
}

// calledAs is the name by which the program was called: kubectl and argocd run plugins by the names of their files.
func calledAs(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if host, isPlugin := strings.CutSuffix(name, "-stepgate"); isPlugin && (host == "kubectl" || host == "argocd") {
		return host + " stepgate"
	}
	return "stepgate"
}
