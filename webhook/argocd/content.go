package argocd

import (
	"encoding/json"
	"hash/fnv"
	"reflect"
	"strconv"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// Around is what a sync deploys by beside its sources, as one text: the destination, and a hash of those other parts of
// the spec that change what a sync does. Argo CD's history does not have them.
func Around(spec *argo.ApplicationSpec) string {
	d := &spec.Destination
	return shared(d.Server + " " + d.Name + " " + d.Namespace + rest(spec))
}

// rest is a hash of ignoreDifferences, of two parts of the sync policy, and of the source that is hydrated; empty if
// there is none of them.
func rest(spec *argo.ApplicationSpec) string {
	var parts struct {
		IgnoreDifferences        argo.IgnoreDifferences         `json:"i,omitempty"`
		SyncOptions              argo.SyncOptions               `json:"o,omitempty"`
		ManagedNamespaceMetadata *argo.ManagedNamespaceMetadata `json:"m,omitempty"`
		DrySource                *argo.DrySource                `json:"d,omitempty"`
	}
	parts.IgnoreDifferences = spec.IgnoreDifferences
	if p := spec.SyncPolicy; p != nil {
		parts.SyncOptions, parts.ManagedNamespaceMetadata = p.SyncOptions, p.ManagedNamespaceMetadata
	}
	if h := spec.SourceHydrator; h != nil {
		parts.DrySource = &h.DrySource
	}
	if reflect.ValueOf(parts).IsZero() {
		return ""
	}
	return " " + strconv.FormatUint(uint64(hashOf(parts)), 16)
}

// Content stands for what an Application deploys by its spec: its sources with their parameters, and what is around
// them.
func Content(spec *argo.ApplicationSpec, around string) Fingerprint {
	return hashOf([]any{spec.GetSources(), around})
}

// hashOf is a hash of the JSON of a value; 0 if it has none.
func hashOf(value any) Fingerprint {
	hash := fnv.New64a()
	if err := json.NewEncoder(hash).Encode(value); err != nil {
		return 0 // Argo CD's types can be encoded
	}
	return Fingerprint(hash.Sum64())
}
