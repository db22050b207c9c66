// SPDX-License-Identifier: Apache-2.0

package notify

import "github.com/prometheus/client_golang/prometheus"

// Metrics count what becomes of messages. It is an Observer.
type Metrics struct{ done *prometheus.CounterVec }

var _ Observer = (*Metrics)(nil)

// NewMetrics registers the metrics of notifications.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{done: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "stepgate", Name: "notifications_total",
		Help: "Notifications about rollouts, by result: sent, failed (it is tried again), late (the service has not " +
			"answered), no-trigger, bad-trigger, no-service, bad-template, subscription (an annotation cannot be read, or " +
			"names too many), settings (of Argo CD's notifications: something cannot be read), state (what was sent cannot " +
			"be read or written, and nothing is sent), or no-room (to write down what is sent, and it is not sent). Trigger " +
			"and service are empty where it is about none that is configured.",
	}, []string{"trigger", "service", "result"})}
	registry.MustRegister(m.done)
	return m
}

// NotificationDone counts what has become of a notification.
func (m *Metrics) NotificationDone(trigger, service, result string) {
	m.done.WithLabelValues(trigger, service, result).Inc()
}
