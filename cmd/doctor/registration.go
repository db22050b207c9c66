// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/presence"
)

// The names of the chart's webhooks for Applications, and of those for ApplicationSets.
const (
	ValidatingWebhook  = presence.ValidatingWebhook
	MutatingWebhook    = "hold.stepgate.io"
	ApprovalWebhook    = "approval.stepgate.io"
	AnnotationsWebhook = "annotations.stepgate.io"
)

// Registration is a webhook of either kind.
type Registration struct {
	// Kind and Name are those of its configuration.
	Kind, Name          string
	Labels, Annotations map[string]string
	// Webhook has the fields that both kinds have.
	Webhook admissionv1.ValidatingWebhook
	// Reinvocation is the policy of a mutating webhook, else nil.
	Reinvocation *admissionv1.ReinvocationPolicyType
}

// resource is the kind as kubectl has it.
func (r *Registration) resource() string {
	if r.Kind == "MutatingWebhookConfiguration" {
		return "mutatingwebhookconfiguration"
	}
	return "validatingwebhookconfiguration"
}

// ofValidating returns a webhook of a configuration, or nil.
func ofValidating(c *admissionv1.ValidatingWebhookConfiguration, name string) *Registration {
	i := slices.IndexFunc(c.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return register("ValidatingWebhookConfiguration", c.ObjectMeta, c.Webhooks[i])
}

// ofMutating returns a webhook of a configuration, or nil.
func ofMutating(c *admissionv1.MutatingWebhookConfiguration, name string) *Registration {
	i := slices.IndexFunc(c.Webhooks, func(w admissionv1.MutatingWebhook) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	w := c.Webhooks[i]
	r := register("MutatingWebhookConfiguration", c.ObjectMeta, admissionv1.ValidatingWebhook{
		Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
		MatchPolicy:       w.MatchPolicy,
		NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
		TimeoutSeconds:          w.TimeoutSeconds,
		AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
	})
	r.Reinvocation = w.ReinvocationPolicy
	return r
}

func register(kind string, meta metav1.ObjectMeta, w admissionv1.ValidatingWebhook) *Registration {
	return &Registration{Kind: kind, Name: meta.Name, Labels: meta.Labels, Annotations: meta.Annotations, Webhook: w}
}
