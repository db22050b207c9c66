// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/cmd/flags"
)

// certificateSource makes the source of the serving certificate.
func certificateSource(
	o *flags.Options, config *rest.Config, registry prometheus.Registerer,
) (certs.Source, error) {
	c, own := &o.Certificates, []string{o.Installation.Name()}
	configurations := certs.Configurations{Validating: own, Mutating: own}
	if c.Dir != "" {
		return certs.NewFiles(certs.FilesOptions{
			Dir: c.Dir, Configurations: configurations, RESTConfig: config, Metrics: registry,
		})
	}
	self := certs.SelfOptions{
		RESTConfig: config, Secret: o.Installation.CA(), Configurations: configurations, Metrics: registry,
		LeafDuration: c.LeafDuration, CADuration: c.CADuration,
	}
	hosts := c.Hosts
	if len(hosts) == 0 {
		hosts = []string{o.Installation.Host()}
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			self.IPAddresses = append(self.IPAddresses, ip)
		} else {
			self.DNSNames = append(self.DNSNames, host)
		}
	}
	return certs.NewSelf(self)
}
