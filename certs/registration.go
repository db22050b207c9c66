package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	informers "k8s.io/client-go/informers/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// registration watches one ValidatingWebhookConfiguration and tells whether its caBundles verify a certificate. It
// may lag behind the API server; it only ever decides what is served and whether we are ready.
type registration struct {
	name     string
	remedy   string
	informer cache.SharedIndexInformer
}

// newRegistration watches by name, so that a role restricted by resourceNames is enough. remedy tells the operator who
// writes the caBundle. changed is called after every change that was seen.
func newRegistration(client kubernetes.Interface, name, remedy string, changed func()) (*registration, error) {
	informer := informers.NewFilteredValidatingWebhookConfigurationInformer(client, 0, cache.Indexers{},
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return nil, fmt.Errorf("watching ValidatingWebhookConfiguration %s: %w", name, err)
	}
	return &registration{name: name, remedy: remedy, informer: informer}, nil
}

// Start runs until ctx is done.
func (r *registration) Start(ctx context.Context) error {
	r.informer.RunWithContext(ctx)
	return nil
}

// Accepts says which webhook's caBundle would refuse the certificate. A configuration that does not exist refuses
// none. One that was not read yet refuses all, and so does an entry without a caBundle: that the API server would
// then use its own roots is nothing that can be verified from here.
func (r *registration) Accepts(certificate *tls.Certificate, now time.Time) error {
	if !r.informer.HasSynced() {
		return fmt.Errorf("ValidatingWebhookConfiguration %s has not been read yet: if this lasts, see that the API "+
			"server is reachable and that stepgate's service account may get, list and watch it", r.name)
	}
	object, exists, err := r.informer.GetStore().GetByKey(r.name)
	if err != nil {
		return fmt.Errorf("ValidatingWebhookConfiguration %s: %w", r.name, err)
	}
	if !exists {
		return nil
	}
	configuration, ok := object.(*admissionv1.ValidatingWebhookConfiguration)
	if !ok {
		return fmt.Errorf("ValidatingWebhookConfiguration %s: the watch gave a %T", r.name, object)
	}
	for i := range configuration.Webhooks {
		if err := acceptedBy(&configuration.Webhooks[i], certificate, now); err != nil {
			return fmt.Errorf("ValidatingWebhookConfiguration %s: %w: %s", r.name, err, r.remedy)
		}
	}
	return nil
}

// acceptedBy says why one webhook entry would refuse the certificate.
func acceptedBy(webhook *admissionv1.ValidatingWebhook, certificate *tls.Certificate, now time.Time) error {
	bundle := webhook.ClientConfig.CABundle
	if len(bundle) == 0 {
		return fmt.Errorf("webhook %s has no caBundle, so the API server cannot verify stepgate", webhook.Name)
	}
	err := verify(certificate, bundle, now)
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return fmt.Errorf("the caBundle of webhook %s lacks the CA of the serving certificate", webhook.Name)
	}
	if err != nil {
		return fmt.Errorf("the caBundle of webhook %s does not verify the serving certificate: %w", webhook.Name, err)
	}
	return nil
}
