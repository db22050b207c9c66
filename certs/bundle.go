// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"time"
)

// parseBundle returns the certificates of a PEM bundle in their order. It skips everything else, as the API server
// does.
func parseBundle(bundle []byte) []*x509.Certificate {
	var found []*x509.Certificate
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return found
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			continue
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			found = append(found, certificate)
		}
	}
}

// mergeBundle returns the bundle that a webhook should carry: its present certificates in their order, without
// duplicates, garbage and expired ones, and then the authorities that it lacks. It is deterministic, and merging its
// result again changes nothing, so that replicas agree. It is empty only if neither holds a usable certificate.
func mergeBundle(existing []byte, authorities []*x509.Certificate, now time.Time) []byte {
	var merged []byte
	seen := map[string]bool{}
	for _, certificate := range append(parseBundle(existing), authorities...) {
		if seen[string(certificate.Raw)] || now.After(certificate.NotAfter) {
			continue
		}
		seen[string(certificate.Raw)] = true
		merged = append(merged, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return merged
}

// verify says why a client that trusts the bundle would not accept the certificate at that time. It does not check
// names: the Service or URL of the registration decides which name the API server dials.
func verify(certificate *tls.Certificate, bundle []byte, now time.Time) error {
	leaf, err := leafOf(certificate)
	if err != nil {
		return err
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for _, der := range certificate.Certificate[1:] {
		if intermediate, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(intermediate)
		}
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}
