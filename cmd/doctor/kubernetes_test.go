// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/doctor"
)

func TestTheVersionOfKubernetes(t *testing.T) {
	policies := []*metav1.APIResourceList{{
		GroupVersion: "admissionregistration.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "validatingadmissionpolicies"}},
	}}
	others := []*metav1.APIResourceList{{
		GroupVersion: "admissionregistration.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "mutatingadmissionpolicies"}},
	}}
	for name, tc := range map[string]struct {
		version   string
		resources []*metav1.APIResourceList
		want      doctor.Result
		found     string
	}{
		"without match conditions":                {"v1.27.16", nil, doctor.Problem, "v1.27.16 has no match conditions: stepgate needs 1.28 or later."},
		"the oldest, as it comes":                 {"v1.28.15", nil, doctor.Warning, "v1.28.15: no ValidatingAdmissionPolicy restricts what stepgate's account may write."},
		"with another beta":                       {"v1.29.14", others, doctor.Warning, "v1.29.14: no ValidatingAdmissionPolicy restricts what stepgate's account may write."},
		"with the policies switched on":           {"v1.28.15", policies, doctor.OK, "v1.28.15."},
		"the policies do not replace conditions":  {"v1.27.16", policies, doctor.Problem, "v1.27.16 has no match conditions: stepgate needs 1.28 or later."},
		"the first that has the policies for all": {"v1.30.0", nil, doctor.OK, "v1.30.0."},
		"a version that cannot be compared":       {"main", nil, doctor.Unknown, "main is not a version that can be compared."},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), healthy(t)
			w.kubernetes, w.resources = tc.version, tc.resources
			check := w.sources(t).Gather(t.Context()).Examine().Checks[0]
			g.Expect(check.Name).To(Equal("Kubernetes"))
			g.Expect(check.Result).To(Equal(tc.want))
			g.Expect(check.Found).To(Equal(tc.found))
		})
	}
}
