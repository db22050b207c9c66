// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue" // makes client-go's work queues keep metrics
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// metricsMux serves the metrics of a registry, and those of client-go's calls and work queues that controller-runtime
// keeps. With profiling it serves Go's profiles, too.
func metricsMux(registry prometheus.Gatherer, profiling bool) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/metrics", newScrapes(promhttp.HandlerFor(prometheus.Gatherers{registry, ctrlmetrics.Registry},
		promhttp.HandlerOpts{})))
	if profiling {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}
