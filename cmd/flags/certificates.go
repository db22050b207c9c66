package flags

import (
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/cmd/command"
)

// shortestCA leaves the API servers a third of the CA's life to learn of the next one: replicas look for a new CA every
// 10 s, and its leaf waits 5 s for the API servers.
const shortestCA = time.Minute

// Certificates say where the serving certificate comes from, and which configurations must trust it.
type Certificates struct {
	Mode           string
	Dir            string
	Secret         string
	DNSNames       []string
	IPAddresses    []net.IP
	LeafDuration   time.Duration
	CADuration     time.Duration
	Configurations certs.Configurations
}

func (c *Certificates) bind(f *pflag.FlagSet) {
	f.StringVar(&c.Mode, "cert-mode", "self",
		"self (stepgate has its own CA in a Secret; it renews and publishes it) or files (somebody mounts a certificate)")
	f.StringVar(&c.Dir, "cert-dir", "", "directory with tls.crt and tls.key, for --cert-mode files")
	f.StringVar(&c.Secret, "cert-secret", "",
		"NAMESPACE/NAME of the Secret where stepgate stores its CA, for --cert-mode self")
	f.StringSliceVar(&c.DNSNames, "cert-dns-name", nil,
		"DNS name in the serving certificate, for --cert-mode self (repeatable)")
	f.IPSliceVar(&c.IPAddresses, "cert-ip-address", nil,
		"IP address in the serving certificate, for --cert-mode self (repeatable)")
	f.DurationVar(&c.LeafDuration, "cert-leaf-duration", 7*24*time.Hour,
		"lifetime of the serving certificate, for --cert-mode self; stepgate replaces it after two thirds of it")
	f.DurationVar(&c.CADuration, "cert-ca-duration", 365*24*time.Hour,
		"lifetime of the CA, at least 1m, for --cert-mode self; stepgate replaces it after two thirds of it")
	f.StringSliceVar(&c.Configurations.Validating, "webhook-configuration", nil,
		"name of a ValidatingWebhookConfiguration; stepgate gets ready when its caBundle verifies the certificate, and "+
			"with --cert-mode self writes that caBundle (repeatable)")
	f.StringSliceVar(&c.Configurations.Mutating, "mutating-webhook-configuration", nil,
		"name of a MutatingWebhookConfiguration, used like --webhook-configuration (repeatable)")
}

func (c *Certificates) validate() error {
	if err := c.validateConfigurations(); err != nil {
		return err
	}
	switch c.Mode {
	case "self":
		return c.validateSelf()
	case "files":
		if c.Dir == "" {
			return command.Usage("--cert-mode files needs --cert-dir")
		}
	default:
		return command.Usage("--cert-mode: %q is not one of self, files", c.Mode)
	}
	return nil
}

func (c *Certificates) validateConfigurations() error {
	validating := names{"--webhook-configuration", c.Configurations.Validating}
	mutating := names{"--mutating-webhook-configuration", c.Configurations.Mutating}
	if err := noneEmpty(validating, mutating); err != nil {
		return err
	}
	for _, f := range []names{validating, mutating} {
		for i, n := range f.values {
			if slices.Contains(f.values[:i], n) {
				return command.Usage("%s: %q is given twice", f.flag, n)
			}
		}
	}
	return nil
}

func (c *Certificates) validateSelf() error {
	if _, err := c.SecretName(); err != nil {
		return err
	}
	switch {
	case len(c.DNSNames)+len(c.IPAddresses) == 0:
		return command.Usage(
			"--cert-mode self needs --cert-dns-name or --cert-ip-address: the name by which the API server calls the webhook",
		)
	case c.Dir != "":
		return command.Usage("--cert-dir goes with --cert-mode files only")
	case c.LeafDuration < time.Second:
		return command.Usage("--cert-leaf-duration: it cannot be shorter than 1s")
	case c.CADuration < shortestCA:
		return command.Usage("--cert-ca-duration: it cannot be shorter than %s", shortestCA)
	case c.CADuration <= c.LeafDuration:
		return command.Usage("--cert-ca-duration: %s is not longer than --cert-leaf-duration, %s", c.CADuration,
			c.LeafDuration)
	}
	return nil
}

// SecretName is the Secret of the CA.
func (c *Certificates) SecretName() (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(c.Secret, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, command.Usage("--cert-secret: %q is not NAMESPACE/NAME (--cert-mode self needs it)",
			c.Secret)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
