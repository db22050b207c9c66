// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"errors"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/environment"
)

// Registered is one webhook configuration of an instance as it is stored.
type Registered struct {
	client.Object
	// Webhook is how the API server calls the first webhook, and Webhooks are all of them, by name.
	Webhook  *admissionregistrationv1.WebhookClientConfig
	Webhooks map[string]*admissionregistrationv1.WebhookClientConfig
}

// Validating reads the ValidatingWebhookConfiguration of an instance.
func Validating(ctx context.Context, e *environment.Environment, name string) (Registered, error) {
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := e.Admin.Get(ctx, client.ObjectKey{Name: name}, c); err != nil {
		return Registered{}, err
	}
	r := Registered{c, &c.Webhooks[0].ClientConfig, map[string]*admissionregistrationv1.WebhookClientConfig{}}
	for i := range c.Webhooks {
		r.Webhooks[c.Webhooks[i].Name] = &c.Webhooks[i].ClientConfig
	}
	return r, nil
}

// Mutating reads the MutatingWebhookConfiguration of an instance.
func Mutating(ctx context.Context, e *environment.Environment, name string) (Registered, error) {
	c := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := e.Admin.Get(ctx, client.ObjectKey{Name: name}, c); err != nil {
		return Registered{}, err
	}
	r := Registered{c, &c.Webhooks[0].ClientConfig, map[string]*admissionregistrationv1.WebhookClientConfig{}}
	for i := range c.Webhooks {
		r.Webhooks[c.Webhooks[i].Name] = &c.Webhooks[i].ClientConfig
	}
	return r, nil
}

// Configurations reads the webhook configurations of an instance that exist: the validating one, and then the mutating
// one.
func Configurations(ctx context.Context, e *environment.Environment, name string) ([]Registered, error) {
	validating, err := Validating(ctx, e, name)
	if err != nil {
		return nil, err
	}
	mutating, err := Mutating(ctx, e, name)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil {
		return []Registered{validating}, nil
	}
	return []Registered{validating, mutating}, nil
}

// Bundles reads the caBundle of every webhook of an instance.
func Bundles(ctx context.Context, e *environment.Environment, name string) ([][]byte, error) {
	all, err := Configurations(ctx, e, name)
	var bundles [][]byte
	for _, c := range all {
		for _, name := range slices.Sorted(maps.Keys(c.Webhooks)) {
			bundles = append(bundles, c.Webhooks[name].CABundle)
		}
	}
	return bundles, err
}

// SetBundle writes the caBundle of every webhook of an instance; nil empties it.
func SetBundle(ctx context.Context, e *environment.Environment, name string, bundle []byte) error {
	all, err := Configurations(ctx, e, name)
	for _, c := range all {
		err = errors.Join(err, c.patch(ctx, e, func() {
			for _, w := range c.Webhooks {
				w.CABundle = bundle
			}
		}))
	}
	return err
}

// Patch changes how the API server calls the first webhook of a configuration.
func (r Registered) Patch(
	ctx context.Context, e *environment.Environment, change func(*admissionregistrationv1.WebhookClientConfig),
) error {
	return r.patch(ctx, e, func() { change(r.Webhook) })
}

func (r Registered) patch(ctx context.Context, e *environment.Environment, change func()) error {
	before, ok := r.DeepCopyObject().(client.Object)
	if !ok {
		return errors.New("a webhook configuration is no object")
	}
	change()
	return e.Admin.Patch(ctx, r.Object, client.MergeFrom(before))
}

// Delete deletes the configuration.
func (r Registered) Delete(ctx context.Context, e *environment.Environment) error {
	return e.Admin.Delete(ctx, r.Object)
}

// Create creates the configuration again after Delete, as it is installed: without a caBundle.
func (r Registered) Create(ctx context.Context, e *environment.Environment) error {
	r.SetResourceVersion("")
	r.SetUID("")
	r.SetManagedFields(nil)
	for _, w := range r.Webhooks {
		w.CABundle = nil
	}
	return e.Admin.Create(ctx, r.Object)
}

// Unregister deletes the webhook configurations of an instance: the API server does not call it any more.
func Unregister(ctx context.Context, e *environment.Environment, name string) error {
	meta := metav1.ObjectMeta{Name: name}
	return errors.Join(
		client.IgnoreNotFound(e.Admin.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta})),
		client.IgnoreNotFound(e.Admin.Delete(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta})),
	)
}
