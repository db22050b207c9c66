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
	// rereadInterval is how often the files are read when the file system tells of no change.
	rereadInterval = 5 * time.Second
	filesRemedy    = "with --cert-mode files cert-manager's cainjector writes it (annotation cert-manager.io/inject-ca-from), or you do"
)

// FilesOptions say where the certificate is, and who must trust it.
type FilesOptions struct {
	// Dir holds tls.crt and tls.key, as a mounted Secret of type kubernetes.io/tls does.
	Dir string
	// WebhookConfiguration is the ValidatingWebhookConfiguration whose caBundles must verify the certificate before
	// Ready says so. It is never written. Empty: none is looked at; needed where the API server trusts the
	// certificate by its own roots.
	WebhookConfiguration string
	// RESTConfig is needed only with a WebhookConfiguration.
	RESTConfig *rest.Config
	// Now is the clock of Ready; nil is time.Now.
	Now func() time.Time
	// Metrics registers the metrics; nil: they are not registered.
	Metrics prometheus.Registerer
}

// files is the Source that serves what is in two files.
type files struct {
	watcher      *certwatcher.CertWatcher
	registration *registration // nil: there is none to watch
	acceptor     acceptor
	now          func() time.Time
}

// NewFiles returns a Source that serves the certificate of a directory and reads it again when it changes. The files
// must be there; when a later version of them is unusable, the last good one goes on being served.
func NewFiles(o FilesOptions) (Source, error) {
	if o.WebhookConfiguration == "" {
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
			"or use --cert-mode self", crt, key, err)
	}
	f := &files{watcher: watcher.WithWatchInterval(rereadInterval), acceptor: unregistered{}, now: clockOr(o.Now)}
	if o.WebhookConfiguration != "" {
		if f.registration, err = newRegistration(client, o.WebhookConfiguration, filesRemedy, func() {}); err != nil {
			return nil, err
		}
		f.acceptor = f.registration
	}
	return f, register(o.Metrics, &collector{
		serving: f.served, ca: func() *x509.Certificate { return nil }, registration: f.acceptor, now: f.now,
	})
}

// Start watches the files and the configuration.
func (f *files) Start(ctx context.Context) error {
	group, inner := errgroup.WithContext(logr.NewContext(ctx, logr.FromContextOrDiscard(ctx).WithName("certs")))
	group.Go(func() error {
		if err := f.watcher.Start(inner); err != nil {
			return fmt.Errorf("watching the serving certificate's files has stopped: %w", err)
		}
		return nil
	})
	if f.registration != nil {
		group.Go(func() error { return f.registration.Start(inner) })
	}
	return untilDone(ctx, group.Wait())
}

// GetCertificate returns the certificate of the files as last read.
func (f *files) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.watcher.GetCertificate(hello)
}

// Ready is about the certificate as last read.
func (f *files) Ready() error { return ready(f.served(), f.acceptor, f.now()) }

func (f *files) served() *tls.Certificate {
	certificate, err := f.watcher.GetCertificate(nil)
	if err != nil {
		return nil
	}
	return certificate
}
