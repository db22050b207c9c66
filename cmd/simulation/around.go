// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

const (
	// noneAround is the first state of the series around: nothing is around the sources.
	noneAround = "i0"
	// aroundLabel is the label of the namespace that has the state.
	aroundLabel = "around"
)

// putAround gives a specification what the series around says: differences to ignore in one state, and labels of the
// namespace in the next.
func putAround(spec *argo.ApplicationSpec, around string) {
	switch {
	case around == noneAround:
	case strings.ContainsAny(around[len(around)-1:], "13579"):
		spec.IgnoreDifferences = argo.IgnoreDifferences{
			{Kind: "Deployment", Name: around, JSONPointers: []string{"/spec/replicas"}},
		}
	default:
		policy := argo.SyncPolicy{}
		if spec.SyncPolicy != nil {
			policy = *spec.SyncPolicy
		}
		policy.SyncOptions = argo.SyncOptions{"CreateNamespace=true"}
		policy.ManagedNamespaceMetadata = &argo.ManagedNamespaceMetadata{Labels: map[string]string{aroundLabel: around}}
		spec.SyncPolicy = &policy
	}
}

// aroundOf is the state of the series around that a specification has.
func aroundOf(spec *argo.ApplicationSpec) string {
	if len(spec.IgnoreDifferences) > 0 {
		return spec.IgnoreDifferences[0].Name
	}
	if m := namespaceMetadata(spec); m != nil {
		return m.Labels[aroundLabel]
	}
	return noneAround
}

// namespaceMetadata is the managedNamespaceMetadata of a specification; nil for none.
func namespaceMetadata(spec *argo.ApplicationSpec) *argo.ManagedNamespaceMetadata {
	if spec.SyncPolicy == nil {
		return nil
	}
	return spec.SyncPolicy.ManagedNamespaceMetadata
}
