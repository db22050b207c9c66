// SPDX-License-Identifier: Apache-2.0

package rollouts_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/rollouts"
)

// TestMetrics have the names and the labels that the chart's dashboard asks for, and the same label for all late steps.
func TestMetrics(t *testing.T) {
	g, registry := NewWithT(t), prometheus.NewRegistry()
	m := rollouts.NewMetrics(registry)
	m.Ended(ledger.Complete)
	for _, step := range []int{1, 99, 100} {
		m.Completed(step, time.Hour)
		m.Failed(step)
		m.Repaired(step, time.Minute)
	}
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP stepgate_rollout_failures_total Applications that have failed in a rollout, by the number of the step.
# TYPE stepgate_rollout_failures_total counter
stepgate_rollout_failures_total{step="1"} 1
stepgate_rollout_failures_total{step="more"} 2
# HELP stepgate_rollouts_total Rollouts that have ended, by result: complete, or superseded by something newer.
# TYPE stepgate_rollouts_total counter
stepgate_rollouts_total{result="complete"} 1
stepgate_rollouts_total{result="superseded"} 0
`), "stepgate_rollout_failures_total", "stepgate_rollouts_total")).To(Succeed())
	for _, name := range []string{"stepgate_rollout_lead_time_seconds", "stepgate_rollout_repair_seconds"} {
		g.Expect(testutil.GatherAndCount(registry, name)).To(Equal(2), name)
	}
}
