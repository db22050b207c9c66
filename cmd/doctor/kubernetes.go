// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/screen"
)

// The minor versions of Kubernetes 1 that matter to stepgate.
const (
	// OldestMinor is the oldest on which stepgate works: the API server evaluates match conditions. The chart refuses
	// older ones (kubeVersion).
	OldestMinor = 28
	// PolicyMinor is the first that has ValidatingAdmissionPolicies unless somebody switches them on.
	PolicyMinor = 30
)

func (f *Facts) kubernetes() Check {
	const name = "Kubernetes"
	if f.Kubernetes.Err != nil {
		return notRead(name, "the version of the API server", f.Kubernetes.Err)
	}
	enough, known := atLeast(f.Kubernetes.Value, 1, PolicyMinor)
	least, _ := atLeast(f.Kubernetes.Value, 1, OldestMinor)
	switch {
	case !known:
		return unknown(name, "%s is not a version that can be compared.",
			f.Kubernetes.Value).do(fmt.Sprintf("stepgate needs 1.%d, and 1.%d for its admission policies.", OldestMinor,
			PolicyMinor))
	case !least:
		return problem(name, "%s has no match conditions: stepgate needs 1.%d or later.", f.Kubernetes.Value,
			OldestMinor).do("Upgrade Kubernetes.")
	case !enough && !f.BetaPolicies:
		return warning(name, "%s: no ValidatingAdmissionPolicy restricts what stepgate's account may write.",
			f.Kubernetes.Value).do(fmt.Sprintf("Upgrade to 1.%d, or see ", PolicyMinor) +
			screen.Page("docs/install.md#kubernetes-128-and-129"))
	}
	return ok(name, "%s.", f.Kubernetes.Value)
}

// betaPolicies is false if it cannot be read: then the doctor warns.
func (s *Sources) betaPolicies() bool {
	list, err := s.Kube.Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1beta1")
	return err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Name == "validatingadmissionpolicies"
	})
}
