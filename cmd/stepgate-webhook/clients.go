// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"fmt"
	"os"

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/webhook/server"
)

// clientsOf reads the file.
func clientsOf(c *flags.Client) (server.Clients, error) {
	if c.CAFile == "" {
		return server.Clients{}, nil
	}
	text, err := os.ReadFile(c.CAFile)
	if err != nil {
		return server.Clients{}, fmt.Errorf("--client-ca-file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return server.Clients{}, fmt.Errorf("--client-ca-file: %s has no certificate in PEM", c.CAFile)
	}
	return server.Clients{CAs: pool, Names: c.Names}, nil
}
