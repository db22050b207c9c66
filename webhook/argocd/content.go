// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// Content stands for what a sync deploys. Two syncs of an Application with the same Content do the same.
type Content struct {
	// Revised stands for all of it: Parameters, Around, and the revision of each source, by position. It is empty where the
	// revisions are not said, as of a spec.
	Revised string `json:"content,omitempty"`
	// Parameters stands for the sources by position, each with its repository, chart, path, ref and all its parameters.
	Parameters string `json:"parameters,omitempty"`
	// Around stands for what a sync deploys by beside its sources: the destination, and those other parts of the spec that
	// change what a sync does. Argo CD's history does not have them.
	Around string `json:"around,omitempty"`
}

// ContentOf is what an Application deploys by its spec, at revisions that nobody has said.
func ContentOf(spec *argo.ApplicationSpec) Content {
	return Content{Parameters: parametersOf(spec.GetSources()), Around: aroundOf(spec)}
}

// Unrevised is the Content at whatever revisions.
func (c Content) Unrevised() Content {
	c.Revised = ""
	return c
}

// at is the Content at these revisions, one for each source; Unrevised if one of them is not said.
func (c Content) at(revisions []string) Content {
	if len(revisions) == 0 || slices.Contains(revisions, "") {
		return c.Unrevised()
	}
	c.Revised = digest([]any{c.Parameters, c.Around, revisions})
	return c
}

// Altered reports whether something else is around the sources than what an Application was deployed with: by its last
// full sync, or, as it was found Synced since, by whomever. unproven says that nothing tells.
func (c Content) Altered(deployed, found Content) (altered, unproven bool) {
	unproven = deployed.Around == "" && found.Around == ""
	return !unproven && c.Around != deployed.Around && c.Around != found.Around, unproven
}

func parametersOf(sources argo.ApplicationSources) string { return digest(sources) }

// aroundOf is Content.Around of a spec.
func aroundOf(spec *argo.ApplicationSpec) string {
	var parts struct {
		Destination              argo.ApplicationDestination    `json:"t"`
		IgnoreDifferences        argo.IgnoreDifferences         `json:"i,omitempty"`
		SyncOptions              argo.SyncOptions               `json:"o,omitempty"`
		ManagedNamespaceMetadata *argo.ManagedNamespaceMetadata `json:"m,omitempty"`
		DrySource                *argo.DrySource                `json:"d,omitempty"`
		Prune                    bool                           `json:"p,omitempty"`
		AllowEmpty               bool                           `json:"e,omitempty"`
		Unknown                  []string                       `json:"u,omitempty"`
	}
	parts.Destination, parts.IgnoreDifferences = spec.Destination, spec.IgnoreDifferences
	parts.Unknown = unknownOf(spec)
	if p := spec.SyncPolicy; p != nil {
		parts.SyncOptions, parts.ManagedNamespaceMetadata = p.SyncOptions, p.ManagedNamespaceMetadata
		if a := p.Automated; a != nil {
			parts.Prune, parts.AllowEmpty = a.GetPrune(), a.GetAllowEmpty()
		}
	}
	if h := spec.SourceHydrator; h != nil {
		parts.DrySource = &h.DrySource
	}
	return digest(parts)
}

// digest is a hash of the JSON of a value that nobody can aim at; empty if it has none.
func digest(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "" // Argo CD's types can be encoded
	}
	sum := sha256.Sum256(text)
	return shared(hex.EncodeToString(sum[:12]))
}

// hashOf is a hash of the JSON of a value; 0 if it has none.
func hashOf(value any) Fingerprint {
	hash := fnv.New64a()
	if err := json.NewEncoder(hash).Encode(value); err != nil {
		return 0 // Argo CD's types can be encoded
	}
	return Fingerprint(hash.Sum64())
}
