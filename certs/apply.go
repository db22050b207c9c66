package certs

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
)

// withBundles returns what is to be applied: of every webhook its name and its caBundle, and no other field. changed
// is false when the configuration has it all already.
func withBundles(current *admissionv1.ValidatingWebhookConfiguration, authorities []*x509.Certificate,
	now time.Time) (wanted *applyv1.ValidatingWebhookConfigurationApplyConfiguration, changed bool) {
	wanted = applyv1.ValidatingWebhookConfiguration(current.Name).
		WithUID(current.UID).WithResourceVersion(current.ResourceVersion)
	for _, webhook := range current.Webhooks {
		bundle := mergeBundle(webhook.ClientConfig.CABundle, authorities, now)
		if len(bundle) == 0 {
			// Every CA has expired. An empty caBundle would make the API server trust its own roots; leave it.
			return nil, false
		}
		changed = changed || !bytes.Equal(bundle, webhook.ClientConfig.CABundle)
		wanted.WithWebhooks(applyv1.ValidatingWebhook().WithName(webhook.Name).
			WithClientConfig(applyv1.WebhookClientConfig().WithCABundle(bundle...)))
	}
	return wanted, changed
}

// injectedBy returns the annotation by which cert-manager's cainjector was asked to write the bundle. Two writers of
// one field would never come to rest.
func injectedBy(configuration *admissionv1.ValidatingWebhookConfiguration) string {
	asked := []string{
		cmapi.WantInjectAnnotation, cmapi.WantInjectFromSecretAnnotation, cmapi.WantInjectAPIServerCAAnnotation,
	}
	i := slices.IndexFunc(asked, func(a string) bool { return configuration.Annotations[a] != "" })
	if i < 0 {
		return ""
	}
	return asked[i]
}
