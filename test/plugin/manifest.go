// SPDX-License-Identifier: Apache-2.0

package main

// manifest is a Plugin of krew.googlecontainertools.github.com/v1alpha2.
type manifest struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       spec              `json:"spec"`
}

type spec struct {
	Version          string       `json:"version"`
	Homepage         string       `json:"homepage"`
	ShortDescription string       `json:"shortDescription"`
	Description      string       `json:"description"`
	Platforms        []platformOf `json:"platforms"`
}

// platformOf is where the archive of one platform is.
type platformOf struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	Sha256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

func (r release) manifest() manifest {
	return manifest{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin",
		Metadata: map[string]string{"name": "stepgate"},
		Spec: spec{
			Version: r.version, Homepage: "https://github.com/stepgate/stepgate",
			// Krew's guide asks for 50 characters at most, without a full stop.
			ShortDescription: "Show what holds up Argo CD progressive syncs",
			Description: `Answers, for Argo CD's progressive syncs (ApplicationSets with RollingSync): where is
my rollout, what holds it up, has a later step started before an earlier one, and
is the ApplicationSet set up right. It reads with your kubeconfig, and needs nothing
installed in the cluster. Where the stepgate webhook is installed, it also checks
that the gate works.
`,
		},
	}
}
