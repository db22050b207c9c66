// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/commandline"
)

var cmdline = commandline.Program{Name: "stepgate-webhook", Run: run}

// complete is a command line without a mistake, up to the API server.
const complete = "serve --installation stepgate/gate"

// A mistake in the command line is exit code 2 and one line, which names the flag and what is valid.
func TestBadCommandLines(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string // after those of complete, unless they begin with "!"
		want string
	}{
		"no sub-command":         {[]string{"!"}, "stepgate-webhook needs a sub-command; see stepgate-webhook --help"},
		"an unknown sub-command": {[]string{"!", "foo"}, `stepgate-webhook has no command "foo"; see stepgate-webhook --help`},
		"an argument":            {[]string{"now"}, `unexpected argument "now"; see stepgate-webhook serve --help`},
		"an unknown flag":        {[]string{"--nope"}, "unknown flag: --nope; see stepgate-webhook serve --help"},
		"a flag of serve's":      {[]string{"!", "--mode", "audit"}, "unknown flag: --mode; see stepgate-webhook --help"},
		"no value":               {[]string{"--mode"}, "flag needs an argument: --mode; see stepgate-webhook serve --help"},

		"selftest without namespace":     {[]string{"!", "selftest"}, "--namespace: name a namespace that stepgate gates (the chart's value test.namespace)"},
		"mode":                           {[]string{"--mode", "dryrun"}, `--mode: "dryrun" is not one of enforce, audit`},
		"mode in capitals":               {[]string{"--mode", "Enforce"}, `--mode: "Enforce" is not one of enforce, audit`},
		"mode off":                       {[]string{"--mode", "off"}, `--mode: "off" is not one of enforce, audit`},
		"mode empty":                     {[]string{"--mode="}, `--mode: "" is not one of enforce, audit`},
		"mode on two lines":              {[]string{"--mode", "a\nb"}, `--mode: "a\nb" is not one of enforce, audit`},
		"spec-settling":                  {[]string{"--spec-settling", "-1s"}, `--spec-settling: -1s is negative`},
		"require":                        {[]string{"--require", "nothing"}, `--require: "nothing" is not one of health, completed, revision`},
		"gate-rollbacks":                 {[]string{"--gate-rollbacks=maybe"}, `invalid argument "maybe" for "--gate-rollbacks" flag: it has to be true or false; see stepgate-webhook serve --help`},
		"allow-failed-operations":        {[]string{"--allow-failed-operations=2"}, `invalid argument "2" for "--allow-failed-operations" flag: it has to be true or false; see stepgate-webhook serve --help`},
		"bypass-user":                    {[]string{"--bypass-user", "alice,"}, "--bypass-user: a name cannot be empty"},
		"approver":                       {[]string{"--approver", ""}, "--approver: a name cannot be empty"},
		"approver-group":                 {[]string{"--approver-group="}, "--approver-group: a name cannot be empty"},
		"application-namespaces":         {[]string{"--application-namespaces", "argocd,Team_A"}, `--application-namespaces: "Team_A" is not the name of a namespace; a pattern is a glob like team-*, or a regular expression like /^team-[a-z]+$/`},
		"a pattern that is none":         {[]string{"--application-namespaces", "/team-(/"}, "--application-namespaces: \"/team-(/\": error parsing regexp: missing closing ): `team-(`"},
		"a glob that is none":            {[]string{"--application-namespaces", "team-[a"}, `--application-namespaces: "team-[a": unexpected end of input`},
		"a namespace twice":              {[]string{"--application-namespaces", "argocd,argocd"}, `--application-namespaces: "argocd" is given twice`},
		"argocd-namespace":               {[]string{"--argocd-namespace="}, `--argocd-namespace: "" is not the name of a namespace`},
		"webhook-bind-address":           {[]string{"--webhook-bind-address", "10250"}, `--webhook-bind-address: "10250" is not HOST:PORT or :PORT`},
		"webhook-bind-address off":       {[]string{"--webhook-bind-address", "0"}, `--webhook-bind-address: "0" is not HOST:PORT or :PORT`},
		"metrics-bind-address":           {[]string{"--metrics-bind-address", "localhost"}, `--metrics-bind-address: "localhost" is not HOST:PORT or :PORT`},
		"health-probe-bind-address":      {[]string{"--health-probe-bind-address", "::1:8081"}, `--health-probe-bind-address: "::1:8081" is not HOST:PORT or :PORT`},
		"shutdown-delay":                 {[]string{"--shutdown-delay", "10"}, `invalid argument "10" for "--shutdown-delay" flag: it has to be a duration such as 30s, 5m or 1h; see stepgate-webhook serve --help`},
		"shutdown-delay negative":        {[]string{"--shutdown-delay", "-1s"}, "--shutdown-delay: it cannot be negative"},
		"installation missing":           {[]string{"!", "serve"}, `--installation: "" is not NAMESPACE/NAME`},
		"installation":                   {[]string{"--installation", "stepgate"}, `--installation: "stepgate" is not NAMESPACE/NAME`},
		"installation too long":          {[]string{"--installation", "a/b/c"}, `--installation: "a/b/c" is not NAMESPACE/NAME`},
		"installation without name":      {[]string{"--installation", "a/"}, `--installation: "a/" is not NAMESPACE/NAME`},
		"installation without namespace": {[]string{"--installation", "/a"}, `--installation: "/a" is not NAMESPACE/NAME`},
		"cert-host empty":                {[]string{"--cert-host", "a,"}, "--cert-host: a name cannot be empty"},
		"cert-host with cert-dir":        {[]string{"--cert-host", "a", "--cert-dir", "/tls"}, "--cert-host does not go with --cert-dir"},
		"cert-leaf-duration":             {[]string{"--cert-leaf-duration", "0s"}, "--cert-leaf-duration: it cannot be shorter than 1s"},
		"cert-ca-duration":               {[]string{"--cert-ca-duration", "59s"}, "--cert-ca-duration: it cannot be shorter than 1m0s"},
		"cert-ca-duration of leaf":       {[]string{"--cert-ca-duration", "1h", "--cert-leaf-duration", "1h"}, "--cert-ca-duration: 1h0m0s is not longer than --cert-leaf-duration, 1h0m0s"},
		"zap-log-level":                  {[]string{"--zap-log-level", "loud"}, `invalid argument "loud" for "--zap-log-level" flag: invalid log level "loud"; see stepgate-webhook serve --help`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			args := append(strings.Fields(complete), tc.args...)
			if tc.args[0] == "!" {
				args = tc.args[1:]
			}
			var stderr bytes.Buffer
			g.Expect(cmdline.Execute(t, args, nil, &stderr)).To(Equal(2))
			g.Expect(stderr.String()).To(Equal("stepgate-webhook: " + tc.want + "\n"))
		})
	}
}

func TestEveryCommandHelps(t *testing.T) { cmdline.HelpsItself(t, newRoot()) }

// A command line that is right and cannot be carried out is exit code 1, also with one line.
func TestFailures(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(os.WriteFile(broken, []byte("a: b\n\t- c\n"), 0o600)).To(Succeed())
	for name, tc := range map[string]struct{ args, want string }{
		"not in a Pod":        {"", "not running in a Pod: --kubeconfig is needed"},
		"no such kubeconfig":  {"--kubeconfig /nonexistent/kubeconfig", "--kubeconfig: stat /nonexistent/kubeconfig: no such file or directory"},
		"a broken kubeconfig": {"--kubeconfig " + broken, "--kubeconfig: "},
		"files, not in a Pod": {"--cert-dir /tls", "not running in a Pod: --kubeconfig is needed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			var stderr bytes.Buffer
			g.Expect(cmdline.Execute(t, strings.Fields(complete+" "+tc.args), nil, &stderr)).To(Equal(1))
			g.Expect(stderr.String()).To(HavePrefix("stepgate-webhook: " + tc.want))
			g.Expect(strings.Count(stderr.String(), "\n")).To(Equal(1))
			g.Expect(stderr.String()).To(HaveSuffix("\n"))
		})
	}
}

func TestHelp(t *testing.T) {
	g := NewWithT(t)
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"help", "serve"}} {
		var stderr bytes.Buffer
		var stdout bytes.Buffer
		g.Expect(cmdline.Execute(t, args, &stdout, &stderr)).To(Equal(0))
		out := stdout.String()
		g.Expect(stderr.String()).To(BeEmpty())
		if !strings.Contains(strings.Join(args, " "), "serve") {
			g.Expect(out).To(ContainSubstring("serve       Serve the admission webhook"))
			continue
		}
		for _, flag := range []string{
			"kubeconfig", "mode", "require", "gate-rollbacks", "allow-failed-operations", "spec-settling", "pin", "hold", "release", "argocd-server-account",
			"argocd-applicationset-account", "bypass-user", "approver", "approver-group", "approve-four-eyes", "application-namespaces", "webhook-bind-address", "metrics-bind-address", "health-probe-bind-address", "shutdown-delay",
			"cert-dir", "cert-host", "cert-leaf-duration", "cert-ca-duration", "installation", "zap-log-level",
		} {
			g.Expect(out).To(ContainSubstring("--" + flag + " "))
		}
	}
}

func TestEverySubCommandRefusesArguments(t *testing.T) { cmdline.RefusesArguments(t, subCommands()) }
