// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ClientName is the common name of the certificate that the API server presents to a webhook that asks for one.
const ClientName = "apiserver"

// admissionConfig is as docs/client-certificates.md shows it. The webhooks of the tests are called by URL, hence "*".
const (
	admissionConfig = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - {name: ValidatingAdmissionWebhook, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: DIR/webhooks.kubeconfig}}
  - {name: MutatingAdmissionWebhook, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: DIR/webhooks.kubeconfig}}
`
	webhooksKubeconfig = `apiVersion: v1
kind: Config
users:
  - {name: "*", user: {client-certificate: client.crt, client-key: client.key}}
`
)

// ClientCA is a file with the CA of that certificate.
func (c *Cluster) ClientCA() string { return filepath.Join(c.dir, "client.crt") }

// writeAdmissionConfig writes the API server's admission configuration and its client certificate, and returns its
// path.
func (c *Cluster) writeAdmissionConfig() (string, error) {
	certificate, key, err := SelfSigned(ClientName, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	for name, text := range map[string][]byte{
		"client.crt": certificate, "client.key": key, "webhooks.kubeconfig": []byte(webhooksKubeconfig),
		"admission.yaml": []byte(strings.ReplaceAll(admissionConfig, "DIR", c.dir)),
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(c.dir, name), text, 0o600))
	}
	return filepath.Join(c.dir, "admission.yaml"), err
}

// SelfSigned makes a certificate for loopback and more addresses, which is its own CA, and its key, both in PEM.
func SelfSigned(name string, from, to time.Time, more ...net.IP) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             from, NotAfter: to, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IPAddresses: append([]net.IP{net.IPv4(127, 0, 0, 1)}, more...), ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth,
		},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
