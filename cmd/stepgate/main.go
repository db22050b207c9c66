// Command stepgate is an admission webhook that enforces the order of Argo CD's progressive syncs, and the command line that tells what
// holds a rollout.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Exit codes. The commands that answer questions keep 1 for an answer: something waits, or was found.
const (
	exitFailure = 1 // of the commands that run stepgate
	exitFound   = 1
	exitUsage   = 2
	exitError   = 2 // of the commands that answer questions
)

// usageError is a mistake in the command line. Its text is one line that names the mistake.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// errFound says that a command has answered, and that the answer is not "all is well". It has printed the answer.
var errFound = errors.New("found")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := run(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	stop()
	os.Exit(code)
}

// The groups of sub-commands.
const (
	groupAsk   = "ask"
	groupAct   = "act"
	groupServe = "serve"
)

// subCommands are all sub-commands. Each has its own file.
func subCommands(streams genericiooptions.IOStreams) []*cobra.Command {
	ask := []*cobra.Command{newAudit(streams), newGet(streams), newExplain(streams), newWait(streams), newLint(streams), newSimulate(streams), newDoctor(streams)}
	act := []*cobra.Command{newPause(streams), newResume(streams), newApprove(streams)}
	serve := []*cobra.Command{newServe(), newSelfTest(), newVersion()}
	for _, c := range ask {
		c.GroupID = groupAsk
	}
	for _, c := range act {
		c.GroupID = groupAct
	}
	for _, c := range serve {
		c.GroupID = groupServe
	}
	return slices.Concat(ask, act, serve)
}

// run executes a command line, which begins with the name of the program, and returns the exit code.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	root := &cobra.Command{
		Use:           "stepgate",
		Short:         "Keeps the order of Argo CD's progressive syncs, and tells what holds a rollout",
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: calledAs(args[0])},
		Args:          noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return &usageError{"stepgate needs a sub-command; see " + cmd.CommandPath() + " --help"}
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{fmt.Sprintf("%s; see %s --help", err, cmd.CommandPath())}
	})
	root.AddGroup(&cobra.Group{ID: groupAsk, Title: "Ask about rollouts:"}, &cobra.Group{ID: groupAct, Title: "Act on rollouts:"}, &cobra.Group{ID: groupServe, Title: "Run stepgate:"})
	for _, cmd := range subCommands(streams) {
		cmd.Example = strings.ReplaceAll(cmd.Example, "  stepgate ", "  "+calledAs(args[0])+" ")
		root.AddCommand(cmd)
	}
	root.SetArgs(args[1:])
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, errFound) {
		return exitFound
	}
	// Print one line, even if the error has several.
	_, _ = fmt.Fprintln(streams.ErrOut, "stepgate: "+strings.ReplaceAll(err.Error(), "\n", " "))
	var usage *usageError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case cmd.GroupID == groupAsk || cmd.GroupID == groupAct:
		return exitError
	}
	return exitFailure
}

// calledAs is the name by which the program was called: kubectl and argocd run plugins by the names of their files.
func calledAs(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if host, isPlugin := strings.CutSuffix(name, "-stepgate"); isPlugin && (host == "kubectl" || host == "argocd") {
		return host + " stepgate"
	}
	return "stepgate"
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Sprintf("unexpected argument %q; see %s --help", args[0], cmd.CommandPath())}
	}
	return nil
}
