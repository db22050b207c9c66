// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setMetadata is the part of the metadata that matters here.
type setMetadata struct {
	Name              string       `json:"name"`
	Annotations       texts        `json:"annotations"`
	DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
}

// UnmarshalJSON decodes bounded metadata.
func (m *setMetadata) UnmarshalJSON(raw []byte) error {
	type plain setMetadata
	return decodeBounded(raw, (*plain)(m))
}

// setStrategy is the strategy, which has the steps.
type setStrategy argo.ApplicationSetStrategy

// UnmarshalJSON decodes a bounded strategy.
func (s *setStrategy) UnmarshalJSON(raw []byte) error {
	return decodeBounded(raw, (*argo.ApplicationSetStrategy)(s))
}

// DecodeSet decodes the name, the annotations and the steps of an ApplicationSet, in the same way as Decode. It returns
// nil if there is no object.
func DecodeSet(raw []byte) (*argo.ApplicationSet, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var parts struct {
		Metadata setMetadata `json:"metadata"`
		Spec     struct {
			Strategy *setStrategy `json:"strategy"`
		} `json:"spec"`
	}
	if err := decode(raw, &parts); err != nil {
		return nil, err
	}
	set := &argo.ApplicationSet{}
	set.Name, set.Annotations, set.DeletionTimestamp = parts.Metadata.Name, parts.Metadata.Annotations,
		parts.Metadata.DeletionTimestamp
	set.Spec.Strategy = (*argo.ApplicationSetStrategy)(parts.Spec.Strategy)
	return set, nil
}
