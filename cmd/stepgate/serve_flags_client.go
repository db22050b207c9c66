package main

import (
	"crypto/x509"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/webhook/server"
)

// clientFlags say who may call the webhook.
type clientFlags struct {
	caFile string
	names  []string
}

func (c *clientFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&c.caFile, "client-ca-file", "", "file with the CA certificates, in PEM, of callers of the webhook; a caller without a certificate of them is refused. If empty, anybody who reaches the port may call")
	f.StringSliceVar(&c.names, "client-allowed-name", nil, "common name or DNS name that a caller's certificate must have, for --client-ca-file (repeatable; default: any)")
}

func (c *clientFlags) validate() error {
	if c.caFile == "" && len(c.names) > 0 {
		return &usageError{"--client-allowed-name needs --client-ca-file"}
	}
	return noneEmpty(names{"--client-allowed-name", c.names})
}

// clients reads the file.
func (c *clientFlags) clients() (server.Clients, error) {
	if c.caFile == "" {
		return server.Clients{}, nil
	}
	text, err := os.ReadFile(c.caFile)
	if err != nil {
		return server.Clients{}, fmt.Errorf("--client-ca-file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return server.Clients{}, fmt.Errorf("--client-ca-file: %s has no certificate in PEM", c.caFile)
	}
	return server.Clients{CAs: pool, Names: c.names}, nil
}
