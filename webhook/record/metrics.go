// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Metrics are the gate's metrics. No label grows with the number of Applications.
type Metrics struct {
	requests    *prometheus.CounterVec
	decisions   *prometheus.CounterVec
	latency     *prometheus.HistogramVec
	reads       *prometheus.CounterVec
	readLatency *prometheus.HistogramVec
	events      *prometheus.CounterVec
	annotations *prometheus.CounterVec
	refreshes   *prometheus.CounterVec
	changes     *prometheus.CounterVec
	approvals   *prometheus.CounterVec
	starts      *prometheus.CounterVec
	unlisted    prometheus.Counter
	unknown     prometheus.Counter
}

// NewMetrics registers the gate's metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	buckets := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "stepgate", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "stepgate", Name: name, Help: help, Buckets: buckets,
		}, labels)
	}
	m := &Metrics{
		requests: counter("requests_total", "Admission requests answered, by path and HTTP status code.", "path", "code"),
		decisions: counter("decisions_total", "Decisions on operation writes, server dry-runs left out.", "outcome",
			"reason", "mode", "initiator"),
		latency: histogram("decision_duration_seconds", "Time from the decoded request to the decision.", "outcome"),
		reads: counter("live_reads_total",
			"Live reads at the API server, by result: ok, error, or canceled when the answer is not needed any more.", "kind",
			"result"),
		readLatency: histogram("live_read_duration_seconds", "Time of a live read at the API server.", "kind"),
		events: counter("events_total",
			"Events by result: sent, failed, repeated (within the window) or dropped (over the rate).", "result"),
		annotations: counter("annotation_errors_total",
			"Operation writes judged with a malformed annotation on their ApplicationSet, or one that is not allowed.",
			"annotation"),
		changes: counter("operations_changed_total",
			"Operations that the mutating webhook has pinned or held, server dry-runs left out.", "verb", "reason"),
		approvals: counter("approvals_total",
			"Approvals of steps in writes of ApplicationSets, by result: approved or refused, server dry-runs left out.",
			"result"),
		unlisted: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "stepgate", Name: "unlisted_account_operations_total",
			Help: "Automated operations by an account that is not listed as one of Argo CD's controllers.",
		}),
		unknown: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "stepgate", Name: "unknown_application_decisions_total",
			Help: "Decisions on Applications that do not exist: answered, and nothing else done. The API server asks about " +
				"one only if it has just been deleted; somebody else who calls stepgate may ask about many.",
		}),
		refreshes: counter("refreshes_total",
			"Refreshes that ask Argo CD to compare an Application again, by result: requested, repeated (within the window), "+
				"needless (requested by others, or the Application is gone), failed or dropped (queue full).", "result"),
		starts: counter("starts_total",
			"Syncs that were due, and that stepgate was to start, by result: started, terminated (one in the way, that retried "+
				"what has been overtaken), denied (by a webhook or a policy), outdated (the Application had changed), needless "+
				"(it has run the same), unjudged (the API server does not call the webhooks for it), failed or dropped (the queue "+
				"was full or too slow).",
			"result"),
	}
	registry.MustRegister(m.requests, m.decisions, m.latency, m.reads, m.readLatency, m.events, m.annotations,
		m.refreshes, m.changes, m.approvals, m.starts, m.unlisted, m.unknown)
	return m
}

// Initialise shows the series that alerts need at zero: a counter that appears with its first event has no increase.
func (m *Metrics) Initialise() {
	for _, result := range []string{"sent", "failed", "repeated", "dropped"} {
		m.events.WithLabelValues(result)
	}
	for _, result := range []string{"requested", "repeated", "needless", "failed", "dropped"} {
		m.refreshes.WithLabelValues(result)
	}
	for _, result := range []string{
		"started", "terminated", "denied", "outdated", "needless", "unjudged", "failed", "dropped",
	} {
		m.starts.WithLabelValues(result)
	}
	for _, result := range []string{"approved", "refused"} {
		m.approvals.WithLabelValues(result)
	}
	for _, annotation := range settings.Annotations() {
		m.annotations.WithLabelValues(annotation)
	}
	for _, initiator := range []string{judge.InitiatorApplicationSet, judge.InitiatorController, judge.InitiatorServer,
		judge.InitiatorStepgate, judge.InitiatorOther} {
		for _, mode := range []settings.Mode{settings.Enforce, settings.Audit} {
			m.decisions.WithLabelValues("error", "ReadError", mode.String(), initiator)
			m.decisions.WithLabelValues(policy.NotGated.String(), string(policy.Bypassed), mode.String(), initiator)
			m.decisions.WithLabelValues(policy.Deny.String(), string(policy.NotPinned), mode.String(), initiator)
		}
	}
}

// Count counts an answered HTTP request to one of the webhooks.
func (m *Metrics) Count(path string, code int) {
	m.requests.WithLabelValues(path, strconv.Itoa(code)).Inc()
}

// ReadDone counts one live read. A read that stepgate ended itself, because its answer was not needed any more, is no
// error.
func (m *Metrics) ReadDone(kind string, took time.Duration, err error) {
	result := "ok"
	switch {
	case errors.Is(err, context.Canceled):
		result = "canceled"
	case err != nil:
		result = "error"
	}
	m.reads.WithLabelValues(kind, result).Inc()
	m.readLatency.WithLabelValues(kind).Observe(took.Seconds())
}

// RefreshDone counts one refresh.
func (m *Metrics) RefreshDone(result string) {
	m.refreshes.WithLabelValues(result).Inc()
}

// StartDone counts one sync that was to be started.
func (m *Metrics) StartDone(result string) {
	m.starts.WithLabelValues(result).Inc()
}

// ApprovalsDone counts approvals: approved or refused.
func (m *Metrics) ApprovalsDone(result string, approvals int) {
	m.approvals.WithLabelValues(result).Add(float64(approvals))
}
