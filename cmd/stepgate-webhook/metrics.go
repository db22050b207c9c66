package main

import (
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue" // makes client-go's work queues keep metrics
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/stepgate/stepgate/cmd/command"
)

// metricsMux serves the metrics of a registry, and those of client-go's calls and work queues that controller-runtime
// keeps. With profiling it serves Go's profiles, too.
func metricsMux(registry prometheus.Gatherer, profiling bool) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(prometheus.Gatherers{registry, ctrlmetrics.Registry},
		promhttp.HandlerOpts{}))
	if profiling {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// buildInfo is a metric that is always 1; its labels say what runs.
func buildInfo(b command.Built) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "stepgate", Name: "build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": b.GoVersion},
	})
	info.Set(1)
	return info
}
