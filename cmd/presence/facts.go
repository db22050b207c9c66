// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// ValidatingWebhook is the name of the chart's webhook that judges syncs.
const ValidatingWebhook = "operation.stepgate.io"

// EmergencySwitch is the label that takes a namespace out of the gate.
const EmergencySwitch = record.IgnoreLabel + "=" + record.IgnoreValue

// SwitchedOff reports whether the labels of a namespace have it.
func SwitchedOff(namespace map[string]string) bool {
	return namespace[record.IgnoreLabel] == record.IgnoreValue
}

// Facts are what was read about gates. The zero value knows nothing.
type Facts struct {
	// Webhooks are those by which the API server asks about syncs. Registered says that they could be read.
	Webhooks   []admissionv1.ValidatingWebhook
	Registered bool
	// Labels has the labels of each namespace that could be read.
	Labels map[string]map[string]string
	// Deployments run the gates. Deployed says that they could be read.
	Deployments []appsv1.Deployment
	Deployed    bool
}

// Asked is the webhook by which the API server asks about a namespace; nil if it asks nobody, or that is not known.
func (f *Facts) Asked(namespace string) *admissionv1.ValidatingWebhook {
	set, known := f.Labels[namespace]
	for i := range f.Webhooks {
		w := &f.Webhooks[i]
		selector, err := metav1.LabelSelectorAsSelector(w.NamespaceSelector)
		if err != nil || w.NamespaceSelector == nil || selector.Empty() || known && selector.Matches(labels.Set(set)) {
			return w
		}
	}
	return nil
}

// Of says whether a gate answers for a namespace. own is the Deployment that gates it by its flags; nil if none is known.
func (f *Facts) Of(namespace string, own *appsv1.Deployment) settings.Presence {
	if why := f.unasked(namespace); why != "" {
		return settings.Presence{NoGate: why}
	}
	asked := f.Asked(namespace)
	if asked == nil {
		return settings.Presence{}
	}
	why := f.silent(asked, own)
	switch {
	case why == "":
		return settings.Presence{}
	case ptr.Deref(asked.FailurePolicy, admissionv1.Fail) == admissionv1.Ignore:
		return settings.Presence{NoGate: why + ", and the failure policy is Ignore"}
	}
	return settings.Presence{Problem: "every sync is refused: " + why + "; see stepgate doctor --emergency"}
}

// unasked says why the API server asks nobody about a namespace; empty if it asks, or that is not known.
func (f *Facts) unasked(namespace string) string {
	set, known := f.Labels[namespace]
	switch {
	case !f.Registered:
		return ""
	case len(f.Webhooks) == 0:
		return "the API server calls no stepgate: no ValidatingWebhookConfiguration has its webhook; see stepgate doctor"
	case !known || f.Asked(namespace) != nil:
		return ""
	case SwitchedOff(set):
		return fmt.Sprintf("namespace %s has the label %s", namespace, EmergencySwitch)
	}
	return fmt.Sprintf("the API server does not ask stepgate about namespace %s: the namespaceSelector of its webhook "+
		"leaves it out", namespace)
}

// silent says why nobody answers the API server; empty if somebody does, or that is not known.
func (f *Facts) silent(asked *admissionv1.ValidatingWebhook, own *appsv1.Deployment) string {
	d := own
	if service := asked.ClientConfig.Service; service != nil {
		all := f.in(service.Namespace)
		if f.Deployed && len(all) == 0 {
			return "there is no Deployment of stepgate in namespace " + service.Namespace
		}
		for _, one := range all {
			if one.Name == service.Name {
				d = one
			}
		}
	}
	if d == nil || d.Status.ObservedGeneration == 0 || d.Status.ReadyReplicas > 0 {
		return ""
	}
	return fmt.Sprintf("no replica of Deployment %s/%s is ready", d.Namespace, d.Name)
}

// in are the Deployments of a namespace.
func (f *Facts) in(namespace string) (all []*appsv1.Deployment) {
	for i := range f.Deployments {
		if f.Deployments[i].Namespace == namespace {
			all = append(all, &f.Deployments[i])
		}
	}
	return all
}

// register keeps the webhooks of a configuration that judge syncs.
func (f *Facts) register(c *admissionv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		if c.Webhooks[i].Name == ValidatingWebhook {
			f.Webhooks = append(f.Webhooks, c.Webhooks[i])
		}
	}
}
