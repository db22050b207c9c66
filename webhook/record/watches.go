// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepgate/stepgate/webhook/cluster"
)

// Watches is how far the watches are, as a metric. A decision does not depend on it: live reads confirm what the
// watches have told. A watch that lags costs reads, and delays releases.
type Watches struct {
	watched    func() []cluster.Watched
	namespaces []string
}

// NewWatches returns the Watches of a Cache; namespaces are those of its sources, in the same order. An empty one
// stands for all.
func NewWatches(watched func() []cluster.Watched, namespaces []string) *Watches {
	return &Watches{watched: watched, namespaces: namespaces}
}

var watchDesc = prometheus.NewDesc("stepgate_watch_resource_version",
	"The resourceVersion up to which a watch has told stepgate everything. Where replicas stay apart, or one stands "+
		"still for minutes, its watch lags or hangs. The namespace is empty for a watch of all.",
	[]string{"resource", "watched_namespace"}, nil)

// Describe implements prometheus.Collector.
func (w *Watches) Describe(out chan<- *prometheus.Desc) { out <- watchDesc }

// Collect implements prometheus.Collector. A watch without its first list has no sample.
func (w *Watches) Collect(out chan<- prometheus.Metric) {
	for i, at := range w.watched() {
		for resource, version := range map[string]string{"applications": at.Applications,
			"applicationsets": at.ApplicationSets} {
			if n, err := strconv.ParseUint(version, 10, 64); err == nil {
				out <- prometheus.MustNewConstMetric(watchDesc, prometheus.GaugeValue, float64(n), resource, w.namespaces[i])
			}
		}
	}
}
