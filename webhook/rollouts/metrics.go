// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepgate/stepgate/webhook/ledger"
)

// mostLabels is the last step that has a label of its own.
const mostLabels = 20

// Metrics are those of rollouts. No label grows with Applications or ApplicationSets.
type Metrics struct {
	ended    *prometheus.CounterVec
	lead     *prometheus.HistogramVec
	failed   *prometheus.CounterVec
	repaired *prometheus.HistogramVec
}

// NewMetrics returns the metrics, which a registry gathers.
func NewMetrics(to prometheus.Registerer) *Metrics {
	times := func(name, help string) *prometheus.HistogramVec {
		const minute, hour, day = 60, 3600, 86400
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help,
			Buckets: []float64{
				minute, 2 * minute, 5 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour, day, 2 * day, 7 * day,
			},
		}, []string{"step"})
	}
	m := &Metrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stepgate_rollouts_total",
			Help: "Rollouts that have ended, by result: complete, or superseded by something newer.",
		}, []string{"result"}),
		lead: times("stepgate_rollout_lead_time_seconds",
			"Time from the first comparison with a revision until a step has completed it, by the number of the step."),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stepgate_rollout_failures_total",
			Help: "Applications that have failed in a rollout, by the number of the step.",
		}, []string{"step"}),
		repaired: times("stepgate_rollout_repair_seconds",
			"Time from the failure of an Application in a rollout until it is repaired, by the number of the step."),
	}
	for _, result := range []ledger.Result{ledger.Complete, ledger.Superseded} {
		m.ended.WithLabelValues(string(result))
	}
	to.MustRegister(m.ended, m.lead, m.failed, m.repaired)
	return m
}

// label is the number of a step, or "more".
func label(step int) string {
	if step > mostLabels {
		return "more"
	}
	return strconv.Itoa(step)
}

// Ended implements Told.
func (m *Metrics) Ended(result ledger.Result) { m.ended.WithLabelValues(string(result)).Inc() }

// Completed implements Told.
func (m *Metrics) Completed(step int, took time.Duration) {
	m.lead.WithLabelValues(label(step)).Observe(took.Seconds())
}

// Failed implements Told.
func (m *Metrics) Failed(step int) { m.failed.WithLabelValues(label(step)).Inc() }

// Repaired implements Told.
func (m *Metrics) Repaired(step int, took time.Duration) {
	m.repaired.WithLabelValues(label(step)).Observe(took.Seconds())
}
