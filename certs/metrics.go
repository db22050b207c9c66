// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	expirationMetric = "stepgate_certificate_expiration_timestamp_seconds"
	inSyncMetric     = "stepgate_ca_bundle_in_sync"
)

// collector computes the metrics when they are scraped, so that none of them can be out of date.
type collector struct {
	serving      func() *tls.Certificate  // nil while nothing is served
	ca           func() *x509.Certificate // nil while unknown, or not ours
	registration acceptor
	now          func() time.Time
}

// register registers the collector, unless there is no registerer.
func register(registerer prometheus.Registerer, c *collector) error {
	if registerer == nil {
		return nil
	}
	if err := registerer.Register(c); err != nil {
		return fmt.Errorf("registering the certificate metrics: %w", err)
	}
	return nil
}

var (
	expiration = prometheus.NewDesc(expirationMetric,
		"When the certificate expires, in Unix seconds: the one served now, and the CA that signs (self mode).",
		[]string{"certificate"}, nil)
	inSync = prometheus.NewDesc(inSyncMetric,
		"1 if every caBundle of the webhook configurations verifies the certificate that is served, or if there is none "+
			"to check; else 0.",
		nil, nil)
)

// Metrics are the metrics that a Source registers: gauges.
func Metrics() []*prometheus.Desc { return []*prometheus.Desc{expiration, inSync} }

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range Metrics() {
		out <- desc
	}
}

// Collect implements prometheus.Collector. A certificate that does not exist has no sample.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	serving := c.serving()
	if leaf, err := leafOf(serving); err == nil {
		out <- c.gauge(expiration, float64(leaf.NotAfter.Unix()), "serving")
	}
	if ca := c.ca(); ca != nil {
		out <- c.gauge(expiration, float64(ca.NotAfter.Unix()), "ca")
	}
	verifies := 0.0
	if c.registration.Accepts(serving, c.now()) == nil {
		verifies = 1
	}
	out <- c.gauge(inSync, verifies)
}

func (c *collector) gauge(desc *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}
