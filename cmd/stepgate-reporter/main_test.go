// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/commandline"
)

var cmdline = commandline.Program{Name: "stepgate-reporter", Run: run}

// A mistake in the command line is exit code 2, and what cannot be carried out is 1; both are one line.
func TestFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		args string
		code int
		want string
	}{
		"no sub-command":     {"", 2, "stepgate-reporter needs a sub-command; see stepgate-reporter --help"},
		"nobody to tell":     {"serve --installation a/b", 2, "--notifications or --ui-bind-address is needed: there is nobody to report to"},
		"a flag of the gate": {"serve --cert-dir /tls", 2, "unknown flag: --cert-dir; see stepgate-reporter serve --help"},
		"ui-bind-address":    {"serve --installation a/b --ui-bind-address 8082 --ui-token-file /t", 2, `--ui-bind-address: "8082" is not HOST:PORT or :PORT`},
		"no ui-token-file":   {"serve --installation a/b --ui-bind-address :8082", 2, "--ui-bind-address needs --ui-token-file"},
		"ui-token-file":      {"serve --installation a/b --ui-token-file /t", 2, "--ui-token-file goes with --ui-bind-address only"},
		"no installation":    {"serve --notifications", 2, `--installation: "" is not NAMESPACE/NAME`},
		"not in a Pod":       {"serve --installation a/b --notifications", 1, "not running in a Pod: --kubeconfig is needed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			var stderr bytes.Buffer
			g.Expect(cmdline.Execute(t, strings.Fields(tc.args), nil, &stderr)).To(Equal(tc.code))
			g.Expect(stderr.String()).To(Equal("stepgate-reporter: " + tc.want + "\n"))
		})
	}
}

func TestEveryCommandHelps(t *testing.T) { cmdline.HelpsItself(t, newRoot()) }

func TestEverySubCommandRefusesArguments(t *testing.T) { cmdline.RefusesArguments(t, subCommands()) }
