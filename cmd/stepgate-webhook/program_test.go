// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/cmd/flags"
)

// unreachable is a kubeconfig of an API server that nobody serves.
const unreachable = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
	clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {}}]}`

// build makes a program whose API server is unreachable.
func build(t *testing.T, args string) (*program, error) {
	t.Helper()
	g := NewWithT(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(kubeconfig, []byte(unreachable), 0o600)).To(Succeed())
	o := &flags.Options{}
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.Bind(set)
	g.Expect(set.Parse(strings.Fields(complete +
		" --metrics-bind-address 0 --health-probe-bind-address 0 --shutdown-delay 0s --kubeconfig " + kubeconfig + " " + args))).To(Succeed())
	g.Expect(o.Validate()).To(Succeed())
	config, err := o.Config()
	g.Expect(err).NotTo(HaveOccurred())
	return newProgram(t.Context(), o, config)
}

// Building needs no API server, and a program that is told to end does so without an error.
func TestProgramIsBuiltAndEnds(t *testing.T) {
	g := NewWithT(t)
	p, err := build(t, "--webhook-bind-address 127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.run(ctx) }()
	cancel()
	g.Eventually(done, "10s").Should(Receive(BeNil()))
}

// A part that fails ends the program with its error.
func TestProgramEndsWithAPart(t *testing.T) {
	g := NewWithT(t)
	taken := listen(t)
	p, err := build(t, "--webhook-bind-address 127.0.0.1:0 --metrics-bind-address "+taken)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.run(t.Context())).To(MatchError(HavePrefix("--metrics-bind-address: listen tcp " + taken)))
}

func TestProgramIsNotBuilt(t *testing.T) {
	taken := listen(t)
	for name, tc := range map[string]struct{ args, want string }{
		"when the webhook's address is in use": {"--webhook-bind-address " + taken, "listen tcp " + taken},
		"when the certificate is missing":      {"--cert-dir " + t.TempDir(), "is not usable"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := build(t, tc.args)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// listen returns an address that is in use until the end of the test.
func listen(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(listener.Close()).To(Succeed()) })
	return listener.Addr().String()
}
