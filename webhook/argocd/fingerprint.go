// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// Fingerprint stands for a content: what an Application was compared with (sources, revisions, destination and ignored
// differences), what its spec says, or an operation.
type Fingerprint uint64

// NewFingerprint returns the fingerprint of a comparison.
func NewFingerprint(sync *argo.SyncStatus) Fingerprint {
	return hashOf([]any{sync.ComparedTo, sync.Revision, sync.Revisions})
}
