// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/cmd/command"
)

// shortestCA leaves the API servers a third of the CA's life to learn of the next one: replicas look for a new CA every
// 10 s, and its leaf waits 5 s for the API servers.
const shortestCA = time.Minute

// Certificates say where the serving certificate comes from.
type Certificates struct {
	// Dir has the certificate; empty if stepgate makes it, with a CA of its own.
	Dir          string
	Hosts        []string
	LeafDuration time.Duration
	CADuration   time.Duration
}

func (c *Certificates) bind(f *pflag.FlagSet) {
	f.StringVar(&c.Dir, "cert-dir", "",
		"directory with tls.crt and tls.key, which somebody mounts; if empty, stepgate has its own CA in the Secret NAME-ca "+
			"of --installation, renews it, and writes it into the webhook configurations")
	f.StringSliceVar(&c.Hosts, "cert-host", nil,
		"DNS name or IP address in the certificate that stepgate makes (repeatable; default: the Service NAME.NAMESPACE.svc "+
			"of --installation)")
	f.DurationVar(&c.LeafDuration, "cert-leaf-duration", 7*24*time.Hour,
		"lifetime of the certificate that stepgate makes; it replaces it after two thirds of it")
	f.DurationVar(&c.CADuration, "cert-ca-duration", 365*24*time.Hour,
		"lifetime of the CA that stepgate makes, at least 1m; it replaces it after two thirds of it")
}

func (c *Certificates) validate() error {
	switch {
	case c.Dir != "" && len(c.Hosts) > 0:
		return command.Usage("--cert-host does not go with --cert-dir")
	case c.LeafDuration < time.Second:
		return command.Usage("--cert-leaf-duration: it cannot be shorter than 1s")
	case c.CADuration < shortestCA:
		return command.Usage("--cert-ca-duration: it cannot be shorter than %s", shortestCA)
	case c.CADuration <= c.LeafDuration:
		return command.Usage("--cert-ca-duration: %s is not longer than --cert-leaf-duration, %s", c.CADuration,
			c.LeafDuration)
	}
	return noneEmpty(names{"--cert-host", c.Hosts})
}
