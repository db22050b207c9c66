// SPDX-License-Identifier: Apache-2.0

// Package commandline runs command lines of stepgate's programs in the tests of each.
package commandline

import (
	"bytes"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/command"
)

// Program is one of the programs.
type Program struct {
	Name string
	Run  command.Run
}

// Execute executes a command line without the name of the program, and returns the exit code. stdout may be nil.
func (p Program) Execute(t *testing.T, args []string, stdout, stderr *bytes.Buffer) int {
	t.Helper()
	if stdout == nil {
		stdout = &bytes.Buffer{}
	}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: stdout, ErrOut: stderr}
	return p.Run(t.Context(), append([]string{p.Name}, args...), streams)
}

// RefusesArguments expects of each sub-command that it says what it is for, and refuses arguments, unless it takes any
// number of names.
func (p Program) RefusesArguments(t *testing.T, subCommands []*cobra.Command) {
	for _, c := range subCommands {
		if strings.HasSuffix(c.Use, "...]") {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			g := gomega.NewWithT(t)
			var stderr bytes.Buffer
			g.Expect(c.Short).NotTo(gomega.BeEmpty())
			g.Expect(p.Execute(t, []string{c.Name(), "one", "two"}, nil, &stderr)).To(gomega.Equal(2))
			g.Expect(stderr.String()).To(gomega.MatchRegexp(
				"^" + p.Name + `: unexpected argument "(one|two)"; see ` + p.Name + " " + c.Name() + " --help\n$"))
		})
	}
}
