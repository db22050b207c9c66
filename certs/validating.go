// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	informers "k8s.io/client-go/informers/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// validating is the adapter of one ValidatingWebhookConfiguration.
type validating struct {
	client kubernetes.Interface
	name   string
}

// String is the kind and the name.
func (v validating) String() string { return "ValidatingWebhookConfiguration " + v.name }

// Get reads it from the API server.
func (v validating) Get(ctx context.Context) (*configuration, error) {
	object, err := v.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, v.name,
		metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return validatingBundles(object), nil
}

// Apply writes the caBundles, and no other field.
func (v validating) Apply(ctx context.Context, wanted *configuration) error {
	object := applyv1.ValidatingWebhookConfiguration(v.name).WithUID(wanted.uid).
		WithResourceVersion(wanted.resourceVersion)
	for _, w := range wanted.webhooks {
		object.WithWebhooks(applyv1.ValidatingWebhook().WithName(w.name).
			WithClientConfig(applyv1.WebhookClientConfig().WithCABundle(w.caBundle...)))
	}
	_, err := v.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Apply(ctx, object, applyOptions())
	return err
}

// Informer watches it by its name.
func (v validating) Informer() cache.SharedIndexInformer {
	return informers.NewFilteredValidatingWebhookConfigurationInformer(v.client, 0, cache.Indexers{}, named(v.name))
}

// Cached returns it as the informer has stored it; nil: it does not exist.
func (v validating) Cached(store cache.Store) (*configuration, error) {
	object, exists, err := store.GetByKey(v.name)
	if err != nil || !exists {
		return nil, err
	}
	typed, ok := object.(*admissionv1.ValidatingWebhookConfiguration)
	if !ok {
		return nil, fmt.Errorf("the watch returned a %T", object)
	}
	return validatingBundles(typed), nil
}

// validatingBundles reduces it to the fields that matter for certificates.
func validatingBundles(object *admissionv1.ValidatingWebhookConfiguration) *configuration {
	found := metadataOf(object)
	for i := range object.Webhooks {
		w := &object.Webhooks[i]
		found.webhooks = append(found.webhooks, webhookBundle{name: w.Name, caBundle: w.ClientConfig.CABundle})
	}
	return found
}
