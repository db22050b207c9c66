// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepgate/stepgate/cmd/screen"
)

// HelpWidth is the width of every help. Commands to be copied may be longer.
const HelpWidth = 80

// Complete adds to a program what cobra would add later, so that help and mistakes look the same everywhere. Execute
// calls it.
func Complete(root *cobra.Command, args []string) {
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d ", HelpWidth)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", wrapped))
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	Each(root, func(cmd *cobra.Command) {
		cmd.Long = reflowed(cmd.Long)
		shell, isCompletion := strings.CutPrefix(cmd.CommandPath(), root.CommandPath()+" completion")
		if isCompletion {
			cmd.Args = unknownOrNoArgs
			if cmd.HasSubCommands() {
				cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			}
			cmd.Example = exampleOfCompletion(strings.TrimSpace(shell))
		}
		cmd.Example = strings.ReplaceAll(cmd.Example, "  stepgate ", "  "+root.DisplayName()+" ")
		cmd.Example = strings.ReplaceAll(cmd.Example, "(stepgate ", "("+root.DisplayName()+" ")
	})
}

// Each calls a function with a command and all below it.
func Each(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		Each(sub, do)
	}
}

// exampleOfCompletion is an example of the completion of a shell.
func exampleOfCompletion(shell string) string {
	switch shell {
	case "fish":
		return "  stepgate completion fish | source"
	case "powershell":
		return "  stepgate completion powershell | Out-String | Invoke-Expression"
	case "zsh":
		return "  source <(stepgate completion zsh)"
	}
	return "  source <(stepgate completion bash)"
}

// reflowed is a text for a help. Indented lines stay as they are.
func reflowed(text string) string {
	blocks := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, block := range blocks {
		lines := strings.Split(block, "\n")
		indented := func(line string) bool { return strings.TrimLeft(line, " \t") != line }
		if !slices.ContainsFunc(lines, indented) {
			blocks[i] = strings.Join(screen.Screen{Width: HelpWidth}.Wrap("", "", block), "\n")
		}
	}
	return strings.Join(blocks, "\n\n")
}

// newHelp is `help`. Unlike cobra's, it takes an unknown command for a mistake.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", Example: "  stepgate help version",
		Args: func(cmd *cobra.Command, args []string) error {
			_, err := commandOf(cmd.Root(), args)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, err := commandOf(cmd.Root(), args)
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

// commandOf is the command with this path.
func commandOf(root *cobra.Command, path []string) (*cobra.Command, error) {
	cmd, rest, err := root.Find(path)
	if err == nil && len(rest) == 0 {
		return cmd, nil
	}
	return nil, unknown(cmd, rest)
}

// unknownOrNoArgs refuses arguments: of a command that has sub-commands they are unknown ones.
func unknownOrNoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.HasSubCommands() {
		return unknown(cmd, args)
	}
	return NoArgs(cmd, args)
}

// unknown is the error for a sub-command that does not exist, with those that may be meant.
func unknown(cmd *cobra.Command, args []string) error {
	cmd.SuggestionsMinimumDistance = 2
	meant := "; see " + cmd.CommandPath() + " --help"
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		meant = "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return Usage("%s has no command %q%s", cmd.CommandPath(), args[0], meant)
}
