// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gatherEvery is how often Gathered gathers: twice for each scrape of the chart's ServiceMonitor.
const gatherEvery = 15 * time.Second

// Gathered is what other Collectors collect, gathered in the background: a scrape reads nothing, and costs the same
// however much there is. So nobody who may scrape has stepgate call the API server, parse annotations, or hold the
// locks of decisions.
type Gathered struct {
	from  []prometheus.Collector
	every time.Duration
	last  atomic.Pointer[[]prometheus.Metric]
}

// NewGathered returns the Gathered of Collectors. It has no samples before Run.
func NewGathered(from ...prometheus.Collector) *Gathered {
	g := &Gathered{from: from, every: gatherEvery}
	g.last.Store(&[]prometheus.Metric{})
	return g
}

// Run gathers at once, and then again and again until ctx is done.
func (g *Gathered) Run(ctx context.Context) {
	ticker := time.NewTicker(g.every)
	defer ticker.Stop()
	for {
		g.gather()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (g *Gathered) gather() {
	all, metrics := []prometheus.Metric{}, make(chan prometheus.Metric)
	go func() {
		defer close(metrics)
		for _, c := range g.from {
			c.Collect(metrics)
		}
	}()
	for m := range metrics {
		all = append(all, m)
	}
	g.last.Store(&all)
}

// Describe implements prometheus.Collector.
func (g *Gathered) Describe(out chan<- *prometheus.Desc) {
	for _, c := range g.from {
		c.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (g *Gathered) Collect(out chan<- prometheus.Metric) {
	for _, m := range *g.last.Load() {
		out <- m
	}
}
