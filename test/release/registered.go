package release

import (
	"context"
	"errors"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/environment"
)

// Registered is one webhook configuration of an instance as it is stored. Each of them has one webhook.
type Registered struct {
	client.Object
	Webhook *admissionregistrationv1.WebhookClientConfig
}

// Validating reads the ValidatingWebhookConfiguration of an instance.
func Validating(ctx context.Context, e *environment.Environment, name string) (Registered, error) {
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := e.Admin.Get(ctx, client.ObjectKey{Name: name}, c); err != nil {
		return Registered{}, err
	}
	return Registered{c, &c.Webhooks[0].ClientConfig}, nil
}

// Mutating reads the MutatingWebhookConfiguration of an instance.
func Mutating(ctx context.Context, e *environment.Environment, name string) (Registered, error) {
	c := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := e.Admin.Get(ctx, client.ObjectKey{Name: name}, c); err != nil {
		return Registered{}, err
	}
	return Registered{c, &c.Webhooks[0].ClientConfig}, nil
}

// Configurations reads the webhook configurations of an instance: the validating one, and the mutating one unless it is in
// audit mode.
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

// Bundles reads the caBundle of every webhook configuration of an instance.
func Bundles(ctx context.Context, e *environment.Environment, name string) ([][]byte, error) {
	all, err := Configurations(ctx, e, name)
	var bundles [][]byte
	for _, c := range all {
		bundles = append(bundles, c.Webhook.CABundle)
	}
	return bundles, err
}

// SetBundle writes the caBundle of every webhook configuration of an instance; nil empties it.
func SetBundle(ctx context.Context, e *environment.Environment, name string, bundle []byte) error {
	all, err := Configurations(ctx, e, name)
	for _, c := range all {
		err = errors.Join(err, c.Patch(ctx, e, func(w *admissionregistrationv1.WebhookClientConfig) { w.CABundle = bundle }))
	}
	return err
}

// Patch changes how the API server calls the webhook of a configuration.
func (r Registered) Patch(ctx context.Context, e *environment.Environment, change func(*admissionregistrationv1.WebhookClientConfig)) error {
	before, ok := r.DeepCopyObject().(client.Object)
	if !ok {
		return errors.New("a webhook configuration is no object")
	}
	change(r.Webhook)
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
	r.Webhook.CABundle = nil
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
