// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
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
func build(t *testing.T, args string) *program {
	t.Helper()
	g := NewWithT(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(kubeconfig, []byte(unreachable), 0o600)).To(Succeed())
	o, set := &flags.Reporter{}, pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.Bind(set)
	g.Expect(set.Parse(strings.Fields(
		"--installation stepgate/gate --metrics-bind-address 0 --health-probe-bind-address 0 --kubeconfig " + kubeconfig + " " + args))).To(Succeed())
	g.Expect(o.Validate()).To(Succeed())
	config, err := o.Config()
	g.Expect(err).NotTo(HaveOccurred())
	p, err := newProgram(t.Context(), o, config)
	g.Expect(err).NotTo(HaveOccurred())
	return p
}

const telling = "--notifications"

func answering(t *testing.T) string {
	return "--ui-bind-address 127.0.0.1:0 --ui-token-file " + t.TempDir()
}

// Building needs no API server, and a program that is told to end does so without an error.
func TestProgramIsBuiltAndEnds(t *testing.T) {
	for name, args := range map[string]string{
		"telling": telling, "answering": answering(t), "both, with all that can be read": telling + " " + answering(t) +
			" --max-update --verify-kinds jobs.v1.batch --start",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := build(t, args)
			g.Expect(p.told != nil).To(Equal(strings.Contains(args, telling)))
			g.Expect(p.endpoints[2].Address != flags.Disabled).To(Equal(strings.Contains(args, "--ui-bind-address")))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- p.run(ctx) }()
			cancel()
			g.Eventually(done, "10s").Should(Receive(BeNil()))
		})
	}
}

// A reporter that has not seen the cluster is alive and not ready, and refuses the UI.
func TestProbes(t *testing.T) {
	p := build(t, answering(t))
	for _, tc := range []struct {
		endpoint int
		path     string
		code     int
		want     string
	}{
		{0, "/healthz", http.StatusOK, "ok"},
		{0, "/readyz", http.StatusServiceUnavailable, "not ready: the Applications and ApplicationSets have not been listed"},
		{2, "/api/v1/rollout", http.StatusServiceUnavailable, "no secret"},
	} {
		g := NewWithT(t)
		code, text := served(p.endpoints[tc.endpoint].Handler, tc.path)
		g.Expect(code).To(Equal(tc.code), tc.path)
		g.Expect(text).To(ContainSubstring(tc.want))
	}
}

// TestMetrics serves metrics of its own, which no alert about the gate takes for those of a gate.
func TestMetrics(t *testing.T) {
	g := NewWithT(t)
	code, text := served(build(t, telling).endpoints[1].Handler, "/metrics")
	g.Expect(code).To(Equal(http.StatusOK), text)
	g.Expect(text).To(MatchRegexp(`stepgate_reporter_build_info\{commit="[^"]+",goversion="go[^"]+",version="[^"]+"\} 1`))
	g.Expect(text).NotTo(ContainSubstring("stepgate_build_info"))
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	g.Expect(err).NotTo(HaveOccurred())
	families := regexp.MustCompile(`(?m)^# TYPE (stepgate_\w+) (\w+)$`).FindAllStringSubmatch(text, -1)
	g.Expect(families).NotTo(BeEmpty())
	for _, family := range families {
		g.Expect(string(page)).To(ContainSubstring("| `"+family[1]+"` | "+family[2]+" |"),
			"test/generate/metrics.go registers what the program registers")
	}
}

func served(handler http.Handler, path string) (code int, text string) {
	rw := httptest.NewRecorder()
	handler.ServeHTTP(rw, httptest.NewRequest(http.MethodGet, path, nil))
	return rw.Code, rw.Body.String()
}
