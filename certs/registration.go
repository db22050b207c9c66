// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"
)

// configurationWatch is one webhook configuration, as a registration follows it.
type configurationWatch interface {
	// String is the kind and the name.
	String() string
	// Informer watches the configuration by its name, so that a role restricted by resourceNames is enough.
	Informer() cache.SharedIndexInformer
	// Cached returns the configuration as the informer has stored it; nil: it does not exist.
	Cached(store cache.Store) (*configuration, error)
}

// registration watches one webhook configuration and tells whether its caBundles verify a certificate. It may lag
// behind the API server; it decides only which leaf is served and whether stepgate is ready.
type registration struct {
	watch    configurationWatch
	remedy   string
	informer cache.SharedIndexInformer
}

// newRegistration watches a configuration. remedy tells the operator who writes the caBundle. changed is called after
// every change that was seen.
func newRegistration(watch configurationWatch, remedy string, changed func()) (*registration, error) {
	informer := watch.Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", watch, err)
	}
	return &registration{watch: watch, remedy: remedy, informer: informer}, nil
}

// Start runs until ctx is done.
func (r *registration) Start(ctx context.Context) error {
	r.informer.RunWithContext(ctx)
	return nil
}

// Accepts says which webhook's caBundle would refuse the certificate. A configuration that does not exist refuses
// none. One that was not read yet refuses all, and so does a webhook without a caBundle: the API server would verify it
// with its own roots, and stepgate does not know them.
func (r *registration) Accepts(certificate *tls.Certificate, now time.Time) error {
	current, err := r.current()
	if err != nil || current == nil {
		return err
	}
	for _, webhook := range current.webhooks {
		if err := webhook.accepts(certificate, now); err != nil {
			return fmt.Errorf("%s: %w: %s", r.watch, err, r.remedy)
		}
	}
	return nil
}

// current returns the configuration as last seen; nil: it does not exist.
func (r *registration) current() (*configuration, error) {
	if !r.informer.HasSynced() {
		return nil, fmt.Errorf("%s has not been read yet: if this lasts, see that the API "+
			"server is reachable and that stepgate's service account may get, list and watch it", r.watch)
	}
	current, err := r.watch.Cached(r.informer.GetStore())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.watch, err)
	}
	return current, nil
}

// accepts says why the API server would refuse the certificate when it calls this webhook.
func (w webhookBundle) accepts(certificate *tls.Certificate, now time.Time) error {
	if len(w.caBundle) == 0 {
		return fmt.Errorf("webhook %s has no caBundle, so the API server cannot verify stepgate", w.name)
	}
	err := verify(certificate, w.caBundle, now)
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return fmt.Errorf("the caBundle of webhook %s lacks the CA of the serving certificate", w.name)
	}
	if err != nil {
		return fmt.Errorf("the caBundle of webhook %s does not verify the serving certificate: %w", w.name, err)
	}
	return nil
}

// registrations are all configurations that stepgate was told of. Without any, every certificate is accepted: no API
// server is known to call stepgate.
type registrations []*registration

// newRegistrations watches all configurations.
func newRegistrations(adapters []adapter, remedy string, changed func()) (registrations, error) {
	var all registrations
	for _, a := range adapters {
		one, err := newRegistration(a, remedy, changed)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// Accepts says which of the configurations would refuse the certificate.
func (r registrations) Accepts(certificate *tls.Certificate, now time.Time) error {
	var refused problems
	for _, one := range r {
		refused.add(one.Accepts(certificate, now))
	}
	return refused.err()
}
