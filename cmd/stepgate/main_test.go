// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/test/commandline"
)

var cmdline = commandline.Program{Name: "stepgate", Run: run}

// A mistake in the command line is exit code 2 and one line, which says what is valid.
func TestBadCommandLines(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command":          {[]string{"foo"}, `stepgate has no command "foo"; see stepgate --help`},
		"a command with a typo":       {[]string{"docter"}, `stepgate has no command "docter"; did you mean doctor?`},
		"the start of commands":       {[]string{"a"}, `stepgate has no command "a"; did you mean approve or audit?`},
		"an unknown sub-command":      {[]string{"completion", "bsh"}, `stepgate completion has no command "bsh"; did you mean bash or fish or zsh?`},
		"help about a typo":           {[]string{"help", "docter"}, `stepgate has no command "docter"; did you mean doctor?`},
		"a file without -f":           {[]string{"lint", "appset.yaml"}, `"appset.yaml" is a file and not the name of an ApplicationSet; did you mean stepgate lint -f appset.yaml?`},
		"a directory without -f":      {[]string{"simulate", "./appsets"}, `"./appsets" is a file and not the name of an ApplicationSet; did you mean stepgate simulate -f ./appsets?`},
		"a path without -f":           {[]string{"lint", "apps/guestbook"}, `"apps/guestbook" is a file and not the name of an ApplicationSet; did you mean stepgate lint -f apps/guestbook?`},
		"a step that is no number":    {[]string{"pause", "guestbook", "--step", "x"}, `invalid argument "x" for "--step" flag: it has to be a whole number; see stepgate pause --help`},
		"a time without a unit":       {[]string{"wait", "guestbook", "--timeout", "5"}, `invalid argument "5" for "--timeout" flag: it has to be a duration such as 30s, 5m or 1h; see stepgate wait --help`},
		"selftest without namespace":  {[]string{"selftest"}, "--namespace: name a namespace that stepgate gates (the chart's value test.namespace)"},
		"what the other program does": {[]string{"serve"}, `stepgate has no command "serve"; see stepgate --help`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var stderr bytes.Buffer
			g.Expect(cmdline.Execute(t, tc.args, nil, &stderr)).To(Equal(2))
			g.Expect(stderr.String()).To(Equal("stepgate: " + tc.want + "\n"))
		})
	}
}

func TestEverySubCommandRefusesArguments(t *testing.T) {
	cmdline.RefusesArguments(t, subCommands(genericiooptions.IOStreams{}))
}

func TestEveryCommandHelps(t *testing.T) {
	cmdline.HelpsItself(t, newRoot("stepgate", genericiooptions.IOStreams{}))
}

// Without a command, the program shows what it can do; --version is version.
func TestWithoutACommand(t *testing.T) {
	g := NewWithT(t)
	var bare, help, flag, version, stderr bytes.Buffer
	g.Expect(cmdline.Execute(t, nil, &bare, &stderr)).To(Equal(0))
	g.Expect(cmdline.Execute(t, []string{"--help"}, &help, &stderr)).To(Equal(0))
	g.Expect(bare.String()).To(And(Equal(help.String()), ContainSubstring("Ask about rollouts:")))
	g.Expect(cmdline.Execute(t, []string{"--version"}, &flag, &stderr)).To(Equal(0))
	g.Expect(cmdline.Execute(t, []string{"version"}, &version, &stderr)).To(Equal(0))
	g.Expect(flag.String()).To(And(Equal(version.String()), HavePrefix("stepgate ")))
	g.Expect(stderr.String()).To(BeEmpty())
}

// A kubeconfig that does not exist, or is something else, is named, and nothing else is asked instead.
func TestAKubeconfigThatIsNone(t *testing.T) {
	there, missing := kubeconfigOf(t, refusing(t)), filepath.Join(t.TempDir(), "missing")
	for name, tc := range map[string]struct{ flag, env, want string }{
		"of KUBECONFIG":   {env: missing, want: "KUBECONFIG names " + missing + ", which cannot be read: no such file or directory"},
		"of the flag":     {flag: missing, env: there, want: "--kubeconfig names " + missing + ", which cannot be read: no such file or directory"},
		"beside another":  {env: missing + string(filepath.ListSeparator) + there, want: "connection refused"},
		"but the flag is": {flag: there, env: missing, want: "connection refused"},
		"another object": {
			env:  "testdata/inputs/config-map.yaml",
			want: "config-map.yaml\": it is of the kind ConfigMap, and no kubeconfig; name one with --kubeconfig or KUBECONFIG",
		},
		"a page": {env: "testdata/inputs/login-page.html", want: "login-page.html\": it is no kubeconfig; name one with"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tc.env)
			for _, args := range [][]string{{"get"}, {"doctor"}, {"selftest", "--namespace", "argocd"}} {
				g := NewWithT(t)
				if tc.flag != "" {
					args = append(args, "--kubeconfig", tc.flag)
				}
				var stderr bytes.Buffer
				g.Expect(cmdline.Execute(t, args, nil, &stderr)).NotTo(Equal(0))
				g.Expect(stderr.String()).To(ContainSubstring(tc.want), "%s", args)
			}
		})
	}
}

// kubectl and argocd run plugins by the names of their files. The usage shows what the user typed.
func TestTheNameThatWasUsed(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/bin/stepgate": "stepgate", "kubectl-stepgate": "kubectl stepgate", "argocd-stepgate.exe": "argocd stepgate", "my-stepgate": "stepgate",
	} {
		t.Run(program, func(t *testing.T) {
			g := NewWithT(t)
			var stdout, stderr bytes.Buffer
			g.Expect(run(t.Context(), []string{program, "version", "--help"},
				genericiooptions.IOStreams{Out: &stdout, ErrOut: &stderr})).To(Equal(0))
			g.Expect(stdout.String()).To(ContainSubstring("Usage:\n  " + want + " version [flags]"))
		})
	}
}

// Without a kubeconfig there is no cluster to ask, and not one at localhost:8080.
func TestNoCluster(t *testing.T) {
	g := NewWithT(t)
	empty := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(empty, nil, 0o600)).To(Succeed())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	var stderr bytes.Buffer
	g.Expect(cmdline.Execute(t, []string{"get", "--kubeconfig", empty}, nil, &stderr)).To(Equal(2))
	g.Expect(stderr.String()).To(
		Equal("stepgate: no cluster is configured: name a kubeconfig with --kubeconfig or KUBECONFIG\n"),
	)
}
