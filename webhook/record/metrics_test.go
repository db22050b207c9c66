// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/stepgate/stepgate/webhook/settings"
)

// Dashboards and alerts rest on these names and labels.
const wantMetrics = `stepgate_annotation_errors_total counter annotation
stepgate_approvals_total counter result
stepgate_decision_duration_seconds histogram outcome
stepgate_decisions_total counter initiator,mode,outcome,reason
stepgate_events_total counter result
stepgate_live_read_duration_seconds histogram kind
stepgate_live_reads_total counter kind,result
stepgate_operations_changed_total counter reason,verb
stepgate_refreshes_total counter result
stepgate_requests_total counter code,path
stepgate_unknown_application_decisions_total counter 
stepgate_unlisted_account_operations_total counter `

func TestMetricNames(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	m.Count("/validate", 200)
	m.ReadDone("application_list", time.Millisecond, nil)
	m.annotations.WithLabelValues(settings.ModeAnnotation).Inc()
	m.events.WithLabelValues("sent").Inc()
	m.RefreshDone("requested")
	m.changes.WithLabelValues("pinned", "compared").Inc()
	m.approvals.WithLabelValues("approved").Inc()
	m.decisions.WithLabelValues("deny", "NotHealthy", "enforce", "applicationset").Inc()
	m.latency.WithLabelValues("deny").Observe(1)

	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, family := range families {
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		names = append(names, strings.Join([]string{
			family.GetName(), strings.ToLower(family.GetType().String()), strings.Join(labels, ","),
		}, " "))
		g.Expect(family.GetHelp()).To(HaveSuffix("."))
	}
	g.Expect(slices.IsSorted(names)).To(BeTrue())
	g.Expect(strings.Join(names, "\n")).To(Equal(wantMetrics))

	problems, err := testutil.GatherAndLint(registry)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
}

func TestMetricsReads(t *testing.T) {
	g := NewWithT(t)
	m := NewMetrics(prometheus.NewRegistry())
	m.ReadDone("application_list", 3*time.Millisecond, nil)
	m.ReadDone("application_list", time.Second, errors.New("timeout"))
	m.ReadDone("application_list", time.Second, fmt.Errorf("get it: %w", context.Canceled))
	g.Expect(testutil.CollectAndCompare(m.reads, strings.NewReader(`
# HELP stepgate_live_reads_total Live reads at the API server, by result: ok, error, or canceled when the answer is not needed any more.
# TYPE stepgate_live_reads_total counter
stepgate_live_reads_total{kind="application_list",result="canceled"} 1
stepgate_live_reads_total{kind="application_list",result="error"} 1
stepgate_live_reads_total{kind="application_list",result="ok"} 1
`))).To(Succeed())
	g.Expect(testutil.CollectAndCount(m.readLatency)).To(Equal(1))
}
