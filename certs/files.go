// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

const (
	// rereadInterval is how often the files are read when the file system reports no change.
	rereadInterval = 5 * time.Second
	filesRemedy    = "with --cert-dir, cert-manager's cainjector writes it (annotation " +
		"cert-manager.io/inject-ca-from), or you write it"
)

// FilesOptions say where the certificate is, and which configurations must trust it.
type FilesOptions struct {
	// Dir holds tls.crt and tls.key, as a mounted Secret of type kubernetes.io/tls does.
	Dir string
	// Configurations are the webhook configurations whose caBundles must verify the certificate before Ready succeeds.
	// They are never written. Name none where the API server trusts the certificate by its own roots.
	Configurations Configurations
	// RESTConfig is needed only with Configurations.
	RESTConfig *rest.Config
	// Now is the clock of Ready; nil is time.Now.
	Now func() time.Time
	// Metrics registers the metrics; nil: they are not registered.
	Metrics prometheus.Registerer
}

// files is the Source that serves the certificate of two files.
type files struct {
	watcher       *certwatcher.CertWatcher
	registrations registrations
	now           func() time.Time
}

// NewFiles returns a Source that serves the certificate of a directory and reads it again when it changes. The files
// must exist. When a later version of them is unusable, the last good one is still served.
func NewFiles(o FilesOptions) (Source, error) {
	if o.Configurations.empty() {
		return newFiles(o, nil)
	}
	if o.RESTConfig == nil {
		return nil, errors.New("serving certificate from files: RESTConfig is not set")
	}
	client, err := kubernetes.NewForConfig(o.RESTConfig)
	if err != nil {
		return nil, fmt.Errorf("serving certificate from files: %w", err)
	}
	return newFiles(o, client)
}

func newFiles(o FilesOptions, client kubernetes.Interface) (*files, error) {
	crt, key := filepath.Join(o.Dir, "tls.crt"), filepath.Join(o.Dir, "tls.key")
	watcher, err := certwatcher.New(crt, key)
	if err != nil {
		return nil, fmt.Errorf("serving certificate %s with key %s is not usable: %w; mount a Secret with both there, "+
			"or leave --cert-dir out", crt, key, err)
	}
	watched, err := newRegistrations(o.Configurations.open(client), filesRemedy, func() {})
	if err != nil {
		return nil, err
	}
	f := &files{watcher: watcher.WithWatchInterval(rereadInterval), registrations: watched, now: clockOr(o.Now)}
	return f, register(o.Metrics, &collector{
		serving: f.served, ca: func() *x509.Certificate { return nil }, registration: f.registrations, now: f.now,
	})
}

// Start watches the files and the configurations.
func (f *files) Start(ctx context.Context) error {
	group, inner := errgroup.WithContext(logr.NewContext(ctx, logr.FromContextOrDiscard(ctx).WithName("certs")))
	group.Go(func() error {
		if err := f.watcher.Start(inner); err != nil {
			return fmt.Errorf("watching the serving certificate's files has stopped: %w", err)
		}
		return nil
	})
	for _, r := range f.registrations {
		group.Go(func() error { return r.Start(inner) })
	}
	return untilDone(ctx, group.Wait())
}

// GetCertificate returns the certificate of the files as last read.
func (f *files) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.watcher.GetCertificate(hello)
}

// Ready judges the certificate as last read.
func (f *files) Ready() error { return ready(f.served(), f.registrations, f.now()) }

func (f *files) served() *tls.Certificate {
	certificate, err := f.watcher.GetCertificate(nil)
	if err != nil {
		return nil
	}
	return certificate
}
