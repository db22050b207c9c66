// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/webhook/settings"
)

// askDoctor runs a command line without a cluster, and returns the exit code and everything that was printed.
func askDoctor(t *testing.T, args ...string) (code int, text string) {
	var out bytes.Buffer
	code = run(t.Context(), append([]string{"stepgate", "doctor"}, args...), genericiooptions.IOStreams{
		In: &bytes.Buffer{}, Out: &out, ErrOut: &out,
	})
	return code, out.String()
}

func TestDoctorFlags(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(os.WriteFile(nowhere,
		[]byte(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"a","context":{"cluster":"a"}}],"current-context":"a"}`), 0o600)).To(Succeed())
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an argument":                   {[]string{"stepgate"}, `unexpected argument "stepgate"`},
		"--apply without --emergency":   {[]string{"--apply"}, "--apply goes with --emergency only"},
		"--selftest with --emergency":   {[]string{"--emergency", "--selftest=argocd"}, "exclude each other"},
		"another --way":                 {[]string{"--emergency", "--apply", "--way=prayer"}, `"prayer" is not one of namespace, webhooks`},
		"another --output":              {[]string{"-o", "wide"}, `"wide" is not one of json, yaml`},
		"--selftest without a terminal": {[]string{"--selftest=argocd", "--kubeconfig=" + nowhere}, "--yes does it without asking"},
		"without an API server":         {[]string{"--kubeconfig=" + nowhere}, "nothing was checked: "},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := askDoctor(t, tc.args...)
			g := NewWithT(t)
			g.Expect(code).To(Equal(command.ExitError))
			g.Expect(text).To(ContainSubstring(tc.want))
		})
	}
}

// The arguments are read as serve reads them, and those of another version do no harm.
func TestSettingsOf(t *testing.T) {
	g := NewWithT(t)
	deployment := func(args ...string) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "stepgate", Args: args}}
		return d
	}
	s, err := settingsOf(deployment(
		"serve", "--mode=audit", "--pin=candidate", "--application-namespaces=argocd", "--application-namespaces=team-*", "--bypass-user=alice", "--flag-of-the-future=1",
		"--installation=stepgate/gate", "--zap-log-level=info",
	))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Gate.Mode).To(Equal(settings.Audit))
	g.Expect(s.Gate.Pin).To(Equal(settings.PinCandidate))
	g.Expect(s.Gate.BypassUsers).To(ConsistOf("alice"))
	g.Expect(s.Gate.ServerAccounts).To(ConsistOf("system:serviceaccount:argocd:argocd-server"), "the default")
	g.Expect(s.Gated("team-a")).To(BeTrue())
	g.Expect(s.Gated("default")).To(BeFalse())
	g.Expect(s.Projects).To(Equal("argocd"), "the default")
	g.Expect(s.OwnCA).To(BeTrue())
	g.Expect(s.CASecret.String()).To(Equal("stepgate/gate-ca"))
	g.Expect(s.Installation).To(Equal("gate"))
	for _, args := range [][]string{nil, {"selftest"}, {"serve", "--mode=strict"}} {
		_, err := settingsOf(deployment(args...))
		g.Expect(err).To(HaveOccurred(), "%q", args)
	}
}

// Somebody at a terminal is asked, and only "y" or "yes" agrees.
func TestAgree(t *testing.T) {
	for answer, agrees := range map[string]bool{"y\n": true, "Yes\n": true, "\n": false, "n\n": false,
		"yesterday\n": false, "": false} {
		var out bytes.Buffer
		d := &doctorCommand{cli: newCLI(genericiooptions.IOStreams{
			In: strings.NewReader(answer), Out: &out, ErrOut: &out,
		}), terminal: func(io.Reader) bool {
			return true
		}}
		err := d.agree("This labels namespace argocd.")
		g := NewWithT(t)
		g.Expect(out.String()).To(Equal("This labels namespace argocd.\nGo on? [y/N] "))
		if agrees {
			g.Expect(err).NotTo(HaveOccurred(), "%q", answer)
		} else {
			g.Expect(err).To(MatchError("nothing was changed"), "%q", answer)
		}
	}
}
