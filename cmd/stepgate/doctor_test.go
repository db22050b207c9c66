package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/webhook"
)

// askDoctor runs a command line without a cluster, and returns the exit code and everything that was printed.
func askDoctor(t *testing.T, args ...string) (code int, text string) {
	var out bytes.Buffer
	code = run(t.Context(), append([]string{"stepgate", "doctor"}, args...), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
	return code, out.String()
}

func TestDoctorFlags(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(os.WriteFile(nowhere, []byte(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"a","context":{"cluster":"a"}}],"current-context":"a"}`), 0o600)).To(Succeed())
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an argument":                       {[]string{"stepgate"}, `unexpected argument "stepgate"`},
		"--apply without --emergency":       {[]string{"--apply"}, "--apply goes with --emergency only"},
		"--selftest with --emergency":       {[]string{"--emergency", "--selftest=argocd"}, "exclude each other"},
		"another --way":                     {[]string{"--emergency", "--apply", "--way=prayer"}, `"prayer" is not one of namespace, webhooks`},
		"another --output":                  {[]string{"-o", "wide"}, `"wide" is not one of json, yaml`},
		"--selftest without a terminal":     {[]string{"--selftest=argocd", "--kubeconfig=" + nowhere}, "--yes does it without asking"},
		"--emergency without an API server": {[]string{"--emergency", "--kubeconfig=" + nowhere}, "the webhook configurations cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := askDoctor(t, tc.args...)
			g := NewWithT(t)
			g.Expect(code).To(Equal(exitError))
			g.Expect(text).To(ContainSubstring(tc.want))
		})
	}
}

// The arguments are read as serve reads them, and those of another version do no harm.
func TestParseServe(t *testing.T) {
	g := NewWithT(t)
	s, err := parseServe([]string{
		"serve", "--mode=audit", "--pin=off", "--application-namespaces=argocd", "--application-namespaces=team-*", "--bypass-user=alice", "--flag-of-the-future=1",
		"--webhook-configuration=stepgate", "--cert-mode=self", "--cert-secret=stepgate/stepgate-ca", "--cert-dns-name=stepgate.stepgate.svc", "--zap-log-level=info",
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Gate.Mode).To(Equal(webhook.Audit))
	g.Expect(s.Gate.Pin).To(Equal(webhook.PinOff))
	g.Expect(s.Gate.BypassUsers).To(ConsistOf("alice"))
	g.Expect(s.Gate.ServerAccounts).To(ConsistOf("system:serviceaccount:argocd:argocd-server"), "the default")
	g.Expect(s.Gated("team-a")).To(BeTrue())
	g.Expect(s.Gated("default")).To(BeFalse())
	g.Expect(s.OwnCA).To(BeTrue())
	g.Expect(s.CASecret.String()).To(Equal("stepgate/stepgate-ca"))
	g.Expect(s.Validating).To(ConsistOf("stepgate"))
	for _, args := range [][]string{nil, {"selftest"}, {"serve", "--mode=strict"}} {
		_, err := parseServe(args)
		g.Expect(err).To(HaveOccurred(), "%q", args)
	}
}
