// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Reference is what there is to say about a sub-command, for docs/reference/flags.md.
type Reference struct {
	// Path is the name with the name of the program, and Use the same with the arguments.
	Path, Use string
	// Short is one line, Long the whole text, which may be empty, and Example has one command a line.
	Short, Long, Example string
	Flags                []FlagReference
}

// FlagReference is what there is to say about a flag. Default is empty if the flag does nothing unless it is set.
type FlagReference struct{ Name, Shorthand, Type, Default, Usage string }

// newReference is a hidden sub-command that prints a Reference of each visible sub-command, as JSON. `make generate`
// calls it.
func newReference() *cobra.Command {
	return &cobra.Command{
		Use:    "reference",
		Short:  "Print all sub-commands with their flags, as JSON",
		Args:   NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []Reference
			for _, c := range cmd.Root().Commands() {
				// cobra adds help and completion to every program.
				if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
					all = append(all, referenceOf(c))
				}
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
		},
	}
}

func referenceOf(c *cobra.Command) Reference {
	r := Reference{Path: c.CommandPath(), Use: c.UseLine(), Short: c.Short, Long: c.Long, Example: c.Example}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		shown := FlagReference{Name: f.Name, Shorthand: f.Shorthand, Type: kind, Default: f.DefValue, Usage: usage}
		if slices.Contains([]string{"false", "0", "0s", "[]", "<nil>"}, f.DefValue) {
			shown.Default = ""
		}
		r.Flags = append(r.Flags, shown)
	})
	return r
}
