// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
)

// withBundles returns the configuration with the bundle that each webhook should carry. changed is false when all of
// them carry it already.
func withBundles(
	current *configuration, authorities []*x509.Certificate, now time.Time,
) (wanted *configuration, changed bool) {
	wanted = &configuration{uid: current.uid, resourceVersion: current.resourceVersion}
	for _, webhook := range current.webhooks {
		bundle := mergeBundle(webhook.caBundle, authorities, now)
		if len(bundle) == 0 {
			// Every CA has expired. An empty caBundle would make the API server trust its own roots; leave it.
			return nil, false
		}
		changed = changed || !bytes.Equal(bundle, webhook.caBundle)
		wanted.webhooks = append(wanted.webhooks, webhookBundle{name: webhook.name, caBundle: bundle})
	}
	return wanted, changed
}

// injectedBy returns the annotation that asks cert-manager's cainjector to write the bundle. Two writers of one field
// would overwrite each other for ever.
func injectedBy(current *configuration) string {
	asked := []string{
		cmapi.WantInjectAnnotation, cmapi.WantInjectFromSecretAnnotation, cmapi.WantInjectAPIServerCAAnnotation,
	}
	i := slices.IndexFunc(asked, func(a string) bool { return current.annotations[a] != "" })
	if i < 0 {
		return ""
	}
	return asked[i]
}
