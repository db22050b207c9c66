// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
)

// Clients are those who may call. The zero value is everybody.
type Clients struct {
	// CAs have signed the certificates of clients; nil asks for none.
	CAs *x509.CertPool
	// Names are the common names and DNS names of which a client's certificate has to have one; empty means any.
	Names []string
}

// configure makes a handshake fail that is not one of the clients'.
func (c Clients) configure(config *tls.Config) {
	if c.CAs == nil {
		return
	}
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, c.CAs
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(c.Names) == 0 {
			return nil
		}
		client := state.PeerCertificates[0]
		if slices.Contains(c.Names, client.Subject.CommonName) || slices.ContainsFunc(client.DNSNames, func(n string) bool {
			return slices.Contains(c.Names, n)
		}) {
			return nil
		}
		return errors.New("the client's certificate has none of the allowed names")
	}
}
