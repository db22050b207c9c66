// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/prometheus/client_golang/prometheus"

// Metrics are those of the ledger; the Collector has what is stored. No label grows with the number of Applications.
type Metrics struct {
	ledger *Ledger
	writes *prometheus.CounterVec
}

var (
	problemsDesc = prometheus.NewDesc("stepgate_ledger_problems",
		"ConfigMaps of the ledger of which nothing counts: of another version, unreadable, or deleted by somebody else.",
		[]string{"problem"}, nil)
	sizeDesc = prometheus.NewDesc("stepgate_ledger_bytes", "Bytes in all ConfigMaps of the ledger.", nil, nil)
)

// NewMetrics returns the metrics of a Ledger, which a registry gathers.
func NewMetrics(l *Ledger, to prometheus.Registerer) *Metrics {
	m := &Metrics{ledger: l, writes: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "stepgate_ledger_writes_total",
		Help: "Writes of ConfigMaps of the ledger, by result: written, conflict (tried again) or failed (tried again).",
	}, []string{"result"})}
	for _, result := range []string{"written", "conflict", "failed"} {
		m.writes.WithLabelValues(result)
	}
	to.MustRegister(m.writes, m)
	return m
}

// Written counts a write.
func (m *Metrics) Written(result string) { m.writes.WithLabelValues(result).Inc() }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	out <- problemsDesc
	out <- sizeDesc
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	version, unreadable, lost := m.ledger.Problems()
	for problem, n := range map[string]int{"version": version, "unreadable": unreadable, "lost": lost} {
		out <- prometheus.MustNewConstMetric(problemsDesc, prometheus.GaugeValue, float64(n), problem)
	}
	out <- prometheus.MustNewConstMetric(sizeDesc, prometheus.GaugeValue, float64(m.ledger.Size()))
}
