// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
)

var countingDesc = prometheus.NewDesc("stepgate_collected", "How often this is collected.", nil, nil)

// counting is a Collector that counts how often it is asked.
type counting struct{ atomic.Int64 }

func (c *counting) Describe(out chan<- *prometheus.Desc) { out <- countingDesc }

func (c *counting) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(countingDesc, prometheus.GaugeValue, float64(c.Add(1)))
}

// TestScrapesCollectNothing scrapes what is Gathered, and counts how often that is collected.
func TestScrapesCollectNothing(t *testing.T) {
	g := NewWithT(t)
	collected := &counting{}
	registry := prometheus.NewRegistry()
	gathered := NewGathered(collected)
	registry.MustRegister(gathered)
	scrape := func() (values []float64) {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			for _, m := range family.GetMetric() {
				values = append(values, m.GetGauge().GetValue())
			}
		}
		return values
	}
	g.Expect(scrape()).To(BeEmpty(), "nothing has been gathered")
	gathered.gather()
	for range 100 {
		g.Expect(scrape()).To(Equal([]float64{1}))
	}
	g.Expect(collected.Load()).To(BeEquivalentTo(1))
}

// TestGatheredGathersAgain runs it until its end.
func TestGatheredGathersAgain(t *testing.T) {
	g := NewWithT(t)
	collected := &counting{}
	gathered := NewGathered(collected)
	gathered.every = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { gathered.Run(ctx); close(ended) }()
	g.Eventually(collected.Load).Should(BeNumerically(">", 3))
	cancel()
	g.Eventually(ended).Should(BeClosed())
}
