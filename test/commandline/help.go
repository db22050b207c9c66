// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/command"
)

// word is a word of a shell, or a quoted one.
var word = regexp.MustCompile(`"[^"]*"|\S+`)

// HelpsItself expects of each command of a program a help of one width with examples whose flags exist, and of each
// flag that a bad value gets no text of the library that parses it.
func (p Program) HelpsItself(t *testing.T, root *cobra.Command) {
	root.SetOut(io.Discard)
	command.Complete(root, nil)
	command.Each(root, func(cmd *cobra.Command) {
		if strings.HasPrefix(cmd.Name(), "__") {
			return // the shells call it
		}
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			g := gomega.NewWithT(t)
			g.Expect(cmd.Short).NotTo(gomega.BeEmpty())
			g.Expect(cmd.Example).NotTo(gomega.BeEmpty(), "it has examples")
			for line := range strings.SplitSeq(cmd.Example, "\n") {
				p.expectExample(g, root, cmd, line)
			}
			p.expectWidth(t, strings.Fields(cmd.CommandPath())[1:])
			if cmd != root {
				p.expectMistakes(t, cmd)
			}
		})
	})
}

// expectExample expects an example to call a command of the program with flags that exist.
func (p Program) expectExample(g gomega.Gomega, root, of *cobra.Command, line string) {
	_, call, found := strings.Cut(line, p.Name+" ")
	if !found {
		g.Expect(line).To(gomega.Equal("  "+p.Name), "the example is a call")
		return
	}
	call, _, _ = strings.Cut(call, " | ")
	call, _, _ = strings.Cut(call, " > ")
	words := word.FindAllString(strings.TrimSuffix(call, ")"), -1)
	cmd, rest, err := root.Find(words)
	g.Expect(err).NotTo(gomega.HaveOccurred(), line)
	g.Expect(of.HasSubCommands() || cmd == of).To(gomega.BeTrue(), "the example is of this command: %s", line)
	for _, w := range rest {
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		switch {
		case strings.HasPrefix(w, "--"):
			g.Expect(cmd.Flag(name)).NotTo(gomega.BeNil(), "%s: there is no --%s", line, name)
		case strings.HasPrefix(w, "-") && len(w) == 2:
			g.Expect(cmd.Flags().ShorthandLookup(name)).NotTo(gomega.BeNil(), "%s: there is no -%s", line, name)
		}
	}
}

var (
	// longWord cannot be wrapped in a column of a help.
	longWord = regexp.MustCompile(`\S{40}`)
	// wideFlag leaves too few columns for what a flag means, so pflag takes more.
	wideFlag = regexp.MustCompile(`(?m)^ {2,}(-\w, )?--\S+( \S+)? {2,}`)
)

// expectWidth expects the lines of a help to be short enough, but for commands to be copied and words without a blank.
func (p Program) expectWidth(t *testing.T, path []string) {
	g := gomega.NewWithT(t)
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}
	g.Expect(p.Run(t.Context(), append(append([]string{p.Name}, path...), "--help"), streams)).To(gomega.Equal(0))
	text, widest := stdout.String(), 0
	for _, flag := range wideFlag.FindAllString(text, -1) {
		widest = max(widest, len(flag))
	}
	if widest > command.HelpWidth/2 {
		text, _, _ = strings.Cut(text, "\nFlags:")
	}
	for line := range strings.SplitSeq(text, "\n") {
		isCommand := strings.Contains(line, p.Name+" ") || strings.HasPrefix(line, "  kubectl ")
		if !longWord.MatchString(line) && !isCommand {
			g.Expect(utf8.RuneCountInString(line)).To(gomega.BeNumerically("<=", command.HelpWidth), line)
		}
	}
}

// expectMistakes gives every flag a value that is none.
func (p Program) expectMistakes(t *testing.T, cmd *cobra.Command) {
	g := gomega.NewWithT(t)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Value.Type(), "string") {
			return // any value may be one
		}
		var stderr bytes.Buffer
		args := strings.Fields(cmd.CommandPath() + " --" + f.Name + "=x")[1:]
		g.Expect(p.Execute(t, args, nil, &stderr)).To(gomega.Equal(2), "%s: %s", args, stderr.String())
		g.Expect(stderr.String()).To(gomega.And(gomega.ContainSubstring("--"+f.Name),
			gomega.Not(gomega.MatchRegexp("strconv|parsing|time: "))), "%s", args)
	})
}
