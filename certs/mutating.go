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

// mutating is the adapter of one MutatingWebhookConfiguration.
type mutating struct {
	client kubernetes.Interface
	name   string
}

// String is the kind and the name.
func (m mutating) String() string { return "MutatingWebhookConfiguration " + m.name }

// Get reads it from the API server.
func (m mutating) Get(ctx context.Context) (*configuration, error) {
	object, err := m.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, m.name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return mutatingBundles(object), nil
}

// Apply writes the caBundles, and no other field.
func (m mutating) Apply(ctx context.Context, wanted *configuration) error {
	object := applyv1.MutatingWebhookConfiguration(m.name).WithUID(wanted.uid).WithResourceVersion(wanted.resourceVersion)
	for _, w := range wanted.webhooks {
		object.WithWebhooks(applyv1.MutatingWebhook().WithName(w.name).
			WithClientConfig(applyv1.WebhookClientConfig().WithCABundle(w.caBundle...)))
	}
	_, err := m.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Apply(ctx, object, applyOptions())
	return err
}

// Informer watches it by its name.
func (m mutating) Informer() cache.SharedIndexInformer {
	return informers.NewFilteredMutatingWebhookConfigurationInformer(m.client, 0, cache.Indexers{}, named(m.name))
}

// Cached returns it as the informer has stored it; nil: it does not exist.
func (m mutating) Cached(store cache.Store) (*configuration, error) {
	object, exists, err := store.GetByKey(m.name)
	if err != nil || !exists {
		return nil, err
	}
	typed, ok := object.(*admissionv1.MutatingWebhookConfiguration)
	if !ok {
		return nil, fmt.Errorf("the watch returned a %T", object)
	}
	return mutatingBundles(typed), nil
}

// mutatingBundles reduces it to the fields that matter for certificates.
func mutatingBundles(object *admissionv1.MutatingWebhookConfiguration) *configuration {
	found := metadataOf(object)
	for i := range object.Webhooks {
		w := &object.Webhooks[i]
		found.webhooks = append(found.webhooks, webhookBundle{name: w.Name, caBundle: w.ClientConfig.CABundle})
	}
	return found
}
