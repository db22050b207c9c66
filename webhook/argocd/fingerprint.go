package argocd

import (
	"encoding/json"
	"hash/fnv"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// Fingerprint stands for what an Application was compared with: sources, revisions and destination.
type Fingerprint uint64

// NewFingerprint returns the fingerprint of a comparison.
func NewFingerprint(sync *argo.SyncStatus) Fingerprint {
	hash := fnv.New64a()
	err := json.NewEncoder(hash).Encode([]any{sync.ComparedTo, sync.Revision, sync.Revisions})
	if err != nil {
		return 0 // these types can be encoded
	}
	return Fingerprint(hash.Sum64())
}
