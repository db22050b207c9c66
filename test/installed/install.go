// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
)

// ChangesOperations is the name of the webhook that changes operations.
const ChangesOperations = "hold.stepgate.io"

// Registration is how an instance of stepgate is registered.
type Registration struct {
	// Name names the webhook configurations, the namespace and everything else of this instance.
	Name string
	// URL is where the API server calls it, without the path.
	URL string
	// FailurePolicy is of the webhook that judges operations. It is Fail when empty.
	FailurePolicy admissionregistrationv1.FailurePolicyType
	// Namespaces limits the registration, so that several instances do not see each other's writes; empty means all.
	Namespaces []string
}

// install creates the objects of stepgate in enforce mode, and adds nothing to their rights. In audit mode it leaves
// out the webhook that changes operations, as the chart does. ignore, if it is not nil, drops the errors that do not
// matter.
func install(ctx context.Context, e *environment.Environment, o Options, ignore func(error) error) error {
	r := o.Registration
	if r.FailurePolicy == "" {
		r.FailurePolicy = admissionregistrationv1.Fail
	}
	// A role of stepgate is in Argo CD's namespace.
	err := e.CreateNamespace(ctx, cluster.ArgoNamespace)
	if ignore != nil {
		err = ignore(err)
	}
	if err != nil {
		return err
	}
	text, err := manifests(ctx, e, o)
	if err != nil {
		return err
	}
	objects, err := read(e.Admin.Scheme(), text, r.Name)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if needsKubelet(object) {
			continue
		}
		r.adapt(object)
		err := e.Admin.Create(ctx, object)
		if ignore != nil {
			err = ignore(err)
		}
		if err != nil {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// needsKubelet reports whether the object is of no use here, where stepgate is a process and no Pod.
func needsKubelet(o client.Object) bool {
	switch o.(type) {
	case *appsv1.Deployment, *corev1.Service, *policyv1.PodDisruptionBudget:
		return true
	}
	return false
}

// adapt has the API server call the local process by URL, because there is no Service network here.
func (r Registration) adapt(o client.Object) {
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			r.place(&w.ClientConfig, w.NamespaceSelector)
			if i == 0 {
				w.FailurePolicy = &r.FailurePolicy
			}
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			r.place(&c.Webhooks[i].ClientConfig, c.Webhooks[i].NamespaceSelector)
		}
	}
}

// place sets the address of one webhook, with the path that it has, and its namespaces.
func (r Registration) place(c *admissionregistrationv1.WebhookClientConfig, namespaces *metav1.LabelSelector) {
	url := r.URL + *c.Service.Path
	*c = admissionregistrationv1.WebhookClientConfig{URL: &url}
	if len(r.Namespaces) > 0 {
		namespaces.MatchExpressions = append(namespaces.MatchExpressions,
			metav1.LabelSelectorRequirement{
				Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: r.Namespaces,
			})
	}
}
