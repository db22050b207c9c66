// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// TestMetrics serves the metrics of a program: what runs, and the work queues and calls of client-go.
func TestMetrics(t *testing.T) {
	g := NewWithT(t)
	p, err := build(t, "--webhook-bind-address 127.0.0.1:0 --ledger --installation stepgate/stepgate")
	g.Expect(err).NotTo(HaveOccurred())
	gathered, cancel := context.WithCancel(t.Context())
	cancel()
	p.gathered.Run(gathered) // once
	code, text := served(p.endpoints[1].Handler, "/metrics")
	g.Expect(code).To(Equal(http.StatusOK), text)
	g.Expect(text).To(MatchRegexp(`stepgate_build_info\{commit="[^"]+",goversion="go[^"]+",version="[^"]+"\} 1`))
	g.Expect(text).To(MatchRegexp(`workqueue_depth\{[^}]*name="release"[^}]*\} 0`))
	g.Expect(text).To(ContainSubstring("go_goroutines"))
	g.Expect(text).To(
		ContainSubstring(`stepgate_decisions_total{initiator="server",mode="audit",outcome="error",reason="ReadError"} 0`),
		"an alert rests on it",
	)
	g.Expect(text).To(ContainSubstring("stepgate_applicationsets_without_progressive_syncs 0"))
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	g.Expect(err).NotTo(HaveOccurred())
	families := regexp.MustCompile(`(?m)^# TYPE (stepgate_\w+) (\w+)$`).FindAllStringSubmatch(text, -1)
	g.Expect(len(families)).To(BeNumerically(">", 8))
	for _, family := range families {
		g.Expect(string(page)).To(ContainSubstring("| `"+family[1]+"` | "+family[2]+" |"),
			"test/generate/metrics.go registers what the program registers")
	}
	code, _ = served(p.endpoints[1].Handler, "/debug/pprof/")
	g.Expect(code).To(Equal(http.StatusNotFound))
}

func served(handler http.Handler, path string) (code int, text string) {
	rw := httptest.NewRecorder()
	handler.ServeHTTP(rw, httptest.NewRequest(http.MethodGet, path, nil))
	return rw.Code, rw.Body.String()
}
