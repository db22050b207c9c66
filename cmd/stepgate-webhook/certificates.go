package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/cmd/flags"
)

// certificateSource makes the source of the serving certificate.
func certificateSource(
	c *flags.Certificates, config *rest.Config, registry prometheus.Registerer,
) (certs.Source, error) {
	if c.Mode == "files" {
		return certs.NewFiles(certs.FilesOptions{
			Dir: c.Dir, Configurations: c.Configurations, RESTConfig: config, Metrics: registry,
		})
	}
	secret, err := c.SecretName()
	if err != nil {
		return nil, err
	}
	return certs.NewSelf(certs.SelfOptions{
		RESTConfig: config, Secret: secret, DNSNames: c.DNSNames, IPAddresses: c.IPAddresses,
		Configurations: c.Configurations, Metrics: registry,
		LeafDuration: c.LeafDuration, CADuration: c.CADuration,
	})
}
