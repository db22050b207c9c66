// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// authority signs certificates of clients.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(g Gomega) authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	a := authority{key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	a.cert, err = x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	return a
}

func (a authority) client(g Gomega, name string, usage x509.ExtKeyUsage, dnsNames ...string) *tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: dnsNames, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}, a.cert, key.Public(), a.key)
	g.Expect(err).NotTo(HaveOccurred())
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestClientsAreVerified calls with and without certificates.
func TestClientsAreVerified(t *testing.T) {
	g := NewWithT(t)
	ours, others := newAuthority(g), newAuthority(g)
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	for name, tc := range map[string]struct {
		clients Clients
		cert    *tls.Certificate
		refused bool
	}{
		"no CA, no certificate":       {},
		"no CA, some certificate":     {cert: others.client(g, "apiserver", x509.ExtKeyUsageClientAuth)},
		"no certificate":              {clients: Clients{CAs: pool}, refused: true},
		"of another CA":               {clients: Clients{CAs: pool}, cert: others.client(g, "apiserver", x509.ExtKeyUsageClientAuth), refused: true},
		"a server's":                  {clients: Clients{CAs: pool}, cert: ours.client(g, "apiserver", x509.ExtKeyUsageServerAuth), refused: true},
		"any name":                    {clients: Clients{CAs: pool}, cert: ours.client(g, "somebody", x509.ExtKeyUsageClientAuth)},
		"the allowed common name":     {clients: Clients{CAs: pool, Names: []string{"x", "apiserver"}}, cert: ours.client(g, "apiserver", x509.ExtKeyUsageClientAuth)},
		"the allowed DNS name":        {clients: Clients{CAs: pool, Names: []string{"api.example.com"}}, cert: ours.client(g, "", x509.ExtKeyUsageClientAuth, "api.example.com")},
		"another name of the same CA": {clients: Clients{CAs: pool, Names: []string{"apiserver"}}, cert: ours.client(g, "somebody", x509.ExtKeyUsageClientAuth), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			options, roots := testOptions(0)
			options.Clients = tc.clients
			server, err := Listen(options)
			g.Expect(err).NotTo(HaveOccurred())
			s := run(t, server, roots)
			_, err = get(s.client(func(c *tls.Config) {
				if tc.cert != nil {
					c.Certificates = []tls.Certificate{*tc.cert}
				}
			}), s.url)
			if tc.refused {
				g.Expect(err).To(MatchError(ContainSubstring("tls: ")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}
