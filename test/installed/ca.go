// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/eventually"
)

// agedName is the common name of a CA that AgeCA stores.
const agedName = "aged"

func (r *Release) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Name(), Name: r.Name() + "-ca"}}
}

// CA is the certificate in the Secret.
func (r *Release) CA(ctx context.Context) (*x509.Certificate, error) {
	secret := r.secret()
	if err := r.env.Admin.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return nil, err
	}
	block, _ := pem.Decode(secret.Data["ca.crt"])
	if block == nil {
		return nil, errors.New("the Secret has no CA")
	}
	return x509.ParseCertificate(block.Bytes)
}

// Rotate calls trigger, which has the CA replaced sooner or later, and returns when there is another CA than before and
// every replica serves a leaf of it.
func (r *Release) Rotate(ctx context.Context, trigger func(context.Context) error) error {
	before, err := r.CA(ctx)
	if err != nil {
		return err
	}
	if err := trigger(ctx); err != nil {
		return err
	}
	return eventually.Succeeds(ctx, func() error {
		now, err := r.CA(ctx)
		if err != nil {
			return err
		}
		if now.Equal(before) || now.Subject.CommonName == agedName {
			return errors.New("the CA is still the one before")
		}
		for _, replica := range r.Replicas() {
			leaf, err := replica.Leaf(nil)
			if err != nil {
				return err
			}
			if err := leaf.CheckSignatureFrom(now); err != nil {
				return fmt.Errorf("%s serves a leaf of another CA: %w", replica.Webhook, err)
			}
		}
		return nil
	})
}

// DeleteCA deletes the Secret.
func (r *Release) DeleteCA(ctx context.Context) error { return r.env.Admin.Delete(ctx, r.secret()) }

// EmptyCA leaves the Secret without content.
func (r *Release) EmptyCA(ctx context.Context) error { return r.writeCA(ctx, nil, nil) }

// GarbleCA stores bytes that are no certificate and no key.
func (r *Release) GarbleCA(ctx context.Context) error {
	return r.writeCA(ctx, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), []byte("no key"))
}

// AgeCA stores a valid CA that is near its expiry: more than two thirds of its life are over.
func (r *Release) AgeCA(ctx context.Context) error {
	certificate, key, err := cluster.SelfSigned(agedName, time.Now().Add(-300*24*time.Hour),
		time.Now().Add(30*time.Second))
	if err != nil {
		return err
	}
	return r.writeCA(ctx, certificate, key)
}

func (r *Release) writeCA(ctx context.Context, certificate, key []byte) error {
	secret := r.secret()
	if err := r.env.Admin.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return err
	}
	before := secret.DeepCopy()
	secret.Data = map[string][]byte{"ca.crt": certificate, "tls.crt": certificate, "tls.key": key}
	return r.env.Admin.Patch(ctx, secret, client.MergeFrom(before))
}

// WipeBundle empties every caBundle and waits until all are there again. Until then no call can succeed: the API server
// trusts no certificate that stepgate could serve. It returns when it wiped the bundle, and when the bundle was back.
func (r *Release) WipeBundle(ctx context.Context) (wiped, back time.Time, err error) {
	wiped = time.Now()
	if err := SetBundle(ctx, r.env, r.Name(), nil); err != nil {
		return wiped, wiped, err
	}
	err = eventually.Succeeds(ctx, func() error {
		bundles, err := Bundles(ctx, r.env, r.Name())
		if err == nil && slices.ContainsFunc(bundles, func(b []byte) bool { return len(b) == 0 }) {
			err = errors.New("a bundle is empty")
		}
		return err
	})
	return wiped, time.Now(), err
}

// Leaf is the certificate that it serves; it is verified if there are roots.
func (r *Replica) Leaf(roots *x509.CertPool) (*x509.Certificate, error) {
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: time.Second},
		Config:    &tls.Config{RootCAs: roots, InsecureSkipVerify: roots == nil},
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", r.Webhook)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// MountFiles makes a certificate that is valid for life from now on, and renames it and its key into place as tls.crt
// and tls.key, as the kubelet does with a mounted Secret. It returns the certificate, which is its own CA.
func MountFiles(dir string, life time.Duration) ([]byte, error) {
	certificate, key, err := cluster.SelfSigned("files", time.Now().Add(-time.Hour), time.Now().Add(life))
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		temporary := filepath.Join(dir, "."+name)
		err = errors.Join(err, os.WriteFile(temporary, text, 0o600), os.Rename(temporary, filepath.Join(dir, name)))
	}
	return certificate, err
}
