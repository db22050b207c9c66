// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/notify"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/rollouts"
)

// metricsPage has every metric that `stepgate-webhook serve` and `stepgate-reporter serve` register. A test of each
// program compares.
func metricsPage() (string, error) {
	var c catalogue
	record.NewMetrics(&c)
	notify.NewMetrics(&c)
	c.MustRegister(record.NewWaiting(nil, nil), record.NewWatches(nil, nil),
		record.NewExemptions(nil, nil, nil, logr.Logger{}), command.Built{}.Metric("build_info"),
		command.Built{}.Metric("reporter_build_info"))
	ledger.NewMetrics(ledger.New(clock.RealClock{}, nil), &c)
	rollouts.NewMetrics(&c)
	for _, desc := range certs.Metrics() {
		c.add(desc, "gauge")
	}
	slices.SortFunc(c.rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return "# Metrics\n\nThe metrics of `/metrics`, beside those of Go, of the process, and of client-go's calls and work " +
		"queues.\n\n" + table([]string{"metric", "type", "labels", "meaning"}, c.rows), c.err
}

// catalogue is a Registerer that writes down what the metrics of collectors are called.
type catalogue struct {
	prometheus.Registerer
	rows [][]string
	err  error
}

func (c *catalogue) MustRegister(collectors ...prometheus.Collector) {
	for _, collector := range collectors {
		descs := make(chan *prometheus.Desc)
		go func() { defer close(descs); collector.Describe(descs) }()
		for desc := range descs {
			c.add(desc, kindOf(collector))
		}
	}
}

// kindOf is the type of the metrics of a collector. Those of stepgate's own collectors are gauges.
func kindOf(collector prometheus.Collector) string {
	switch collector.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.HistogramVec:
		return "histogram"
	case prometheus.Gauge: // it is a prometheus.Counter, too
		return "gauge"
	case prometheus.Counter:
		return "counter"
	}
	return "gauge"
}

var (
	described = regexp.MustCompile(`^Desc\{fqName: ("[^"]*"), help: (".*"), constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	constant  = regexp.MustCompile(`(\w+)="[^"]*"`)
)

// add takes apart what a Desc says of itself: it has no other way to say it.
func (c *catalogue) add(desc *prometheus.Desc, kind string) {
	parts := described.FindStringSubmatch(desc.String())
	if parts == nil {
		c.err = fmt.Errorf("not understood: %s", desc)
		return
	}
	name, errName := strconv.Unquote(parts[1])
	help, errHelp := strconv.Unquote(parts[2])
	if errName != nil || errHelp != nil {
		c.err = fmt.Errorf("not understood: %s", desc)
	}
	var labels []string
	for _, label := range constant.FindAllStringSubmatch(parts[3], -1) {
		labels = append(labels, code(label[1]))
	}
	for label := range strings.SplitSeq(parts[4], ",") {
		if label != "" {
			labels = append(labels, code(label))
		}
	}
	c.rows = append(c.rows, []string{code(name), kind, strings.Join(labels, ", "), plain(help)})
}
