// SPDX-License-Identifier: Apache-2.0

package certs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Configurations name the webhook configurations that tell the API server to call stepgate. They need not exist.
type Configurations struct {
	// Validating are names of ValidatingWebhookConfigurations.
	Validating []string
	// Mutating are names of MutatingWebhookConfigurations.
	Mutating []string
}

// empty reports whether no configuration is named.
func (c Configurations) empty() bool { return len(c.Validating)+len(c.Mutating) == 0 }

// open returns an adapter for every configuration. It reads nothing yet.
func (c Configurations) open(client kubernetes.Interface) []adapter {
	var all []adapter
	for _, name := range c.Validating {
		all = append(all, validating{client: client, name: name})
	}
	for _, name := range c.Mutating {
		all = append(all, mutating{client: client, name: name})
	}
	return all
}

// adapter hides of which kind a configuration is, from the publisher and from the registration.
type adapter interface {
	configurationStore
	configurationWatch
}

// configuration is a webhook configuration of either kind, reduced to the fields that matter for certificates.
type configuration struct {
	uid             types.UID
	resourceVersion string
	annotations     map[string]string
	webhooks        []webhookBundle
}

// webhookBundle is one webhook of a configuration.
type webhookBundle struct {
	name     string
	caBundle []byte
}

// metadataOf returns a configuration without its webhooks, which the adapter adds.
func metadataOf(object metav1.Object) *configuration {
	return &configuration{
		uid: object.GetUID(), resourceVersion: object.GetResourceVersion(), annotations: object.GetAnnotations(),
	}
}

// named restricts a list or a watch to one name. RBAC allows such a list to a role that is restricted by resourceNames.
func named(name string) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
}

// applyOptions make stepgate the owner of the fields that it applies, whoever wrote them before.
func applyOptions() metav1.ApplyOptions {
	return metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
}
