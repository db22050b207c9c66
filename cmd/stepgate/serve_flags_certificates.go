package main

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/certs"
)

// shortestCA leaves the API servers a third of the CA's life to learn of the next one: replicas look for a new CA every
// 10 s, and its leaf waits 5 s for the API servers.
const shortestCA = time.Minute

// certificateFlags say where the serving certificate comes from, and which configurations must trust it.
type certificateFlags struct {
	mode           string
	dir            string
	secret         string
	dnsNames       []string
	ipAddresses    []net.IP
	leafDuration   time.Duration
	caDuration     time.Duration
	configurations certs.Configurations
}

func (c *certificateFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&c.mode, "cert-mode", "self", "self (stepgate has its own CA in a Secret; it renews and publishes it) or files (somebody mounts a certificate)")
	f.StringVar(&c.dir, "cert-dir", "", "directory with tls.crt and tls.key, for --cert-mode files")
	f.StringVar(&c.secret, "cert-secret", "", "NAMESPACE/NAME of the Secret where stepgate stores its CA, for --cert-mode self")
	f.StringSliceVar(&c.dnsNames, "cert-dns-name", nil, "DNS name in the serving certificate, for --cert-mode self (repeatable)")
	f.IPSliceVar(&c.ipAddresses, "cert-ip-address", nil, "IP address in the serving certificate, for --cert-mode self (repeatable)")
	f.DurationVar(&c.leafDuration, "cert-leaf-duration", 7*24*time.Hour, "lifetime of the serving certificate, for --cert-mode self; stepgate replaces it after two thirds of it")
	f.DurationVar(&c.caDuration, "cert-ca-duration", 365*24*time.Hour, "lifetime of the CA, at least 1m, for --cert-mode self; stepgate replaces it after two thirds of it")
	f.StringSliceVar(&c.configurations.Validating, "webhook-configuration", nil, "name of a ValidatingWebhookConfiguration; stepgate gets ready when its caBundle verifies the certificate, and with --cert-mode self writes that caBundle (repeatable)")
	f.StringSliceVar(&c.configurations.Mutating, "mutating-webhook-configuration", nil, "name of a MutatingWebhookConfiguration, used like --webhook-configuration (repeatable)")
}

func (c *certificateFlags) validate() error {
	if err := c.validateConfigurations(); err != nil {
		return err
	}
	switch c.mode {
	case "self":
		return c.validateSelf()
	case "files":
		if c.dir == "" {
			return &usageError{"--cert-mode files needs --cert-dir"}
		}
	default:
		return &usageError{fmt.Sprintf("--cert-mode: %q is not one of self, files", c.mode)}
	}
	return nil
}

func (c *certificateFlags) validateConfigurations() error {
	validating := names{"--webhook-configuration", c.configurations.Validating}
	mutating := names{"--mutating-webhook-configuration", c.configurations.Mutating}
	if err := noneEmpty(validating, mutating); err != nil {
		return err
	}
	for _, f := range []names{validating, mutating} {
		for i, n := range f.values {
			if slices.Contains(f.values[:i], n) {
				return &usageError{fmt.Sprintf("%s: %q is given twice", f.flag, n)}
			}
		}
	}
	return nil
}

func (c *certificateFlags) validateSelf() error {
	if _, err := c.secretName(); err != nil {
		return err
	}
	switch {
	case len(c.dnsNames)+len(c.ipAddresses) == 0:
		return &usageError{"--cert-mode self needs --cert-dns-name or --cert-ip-address: the name by which the API server calls the webhook"}
	case c.dir != "":
		return &usageError{"--cert-dir goes with --cert-mode files only"}
	case c.leafDuration < time.Second:
		return &usageError{"--cert-leaf-duration: it cannot be shorter than 1s"}
	case c.caDuration < shortestCA:
		return &usageError{fmt.Sprintf("--cert-ca-duration: it cannot be shorter than %s", shortestCA)}
	case c.caDuration <= c.leafDuration:
		return &usageError{fmt.Sprintf("--cert-ca-duration: %s is not longer than --cert-leaf-duration, %s", c.caDuration, c.leafDuration)}
	}
	return nil
}

func (c *certificateFlags) secretName() (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(c.secret, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, &usageError{fmt.Sprintf("--cert-secret: %q is not NAMESPACE/NAME (--cert-mode self needs it)", c.secret)}
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// source makes the source of the serving certificate.
func (c *certificateFlags) source(config *rest.Config, registry prometheus.Registerer) (certs.Source, error) {
	if c.mode == "files" {
		return certs.NewFiles(certs.FilesOptions{
			Dir: c.dir, Configurations: c.configurations, RESTConfig: config, Metrics: registry,
		})
	}
	secret, err := c.secretName()
	if err != nil {
		return nil, err
	}
	return certs.NewSelf(certs.SelfOptions{
		RESTConfig: config, Secret: secret, DNSNames: c.dnsNames, IPAddresses: c.ipAddresses,
		Configurations: c.configurations, Metrics: registry,
		LeafDuration: c.leafDuration, CADuration: c.caDuration,
	})
}
