// SPDX-License-Identifier: Apache-2.0

package argocd_test

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestWhatEndsAPass is what its controller writes at the end of one, and nothing that others write.
func TestWhatEndsAPass(t *testing.T) {
	failing := func(set *argo.ApplicationSet) {
		set.Status.Conditions = []argo.ApplicationSetCondition{{
			Type: argo.ApplicationSetConditionErrorOccurred, Status: argo.ApplicationSetConditionStatusTrue, Message: "no",
		}}
	}
	synced := func(set *argo.ApplicationSet) { set.Status.Resources[0].Status = "Synced" }
	for name, tc := range map[string]struct {
		before, edit func(*argo.ApplicationSet)
		want         bool
	}{
		"nothing":                       {edit: func(*argo.ApplicationSet) {}},
		"the status of an Application":  {edit: synced, want: true},
		"its health":                    {edit: func(set *argo.ApplicationSet) { set.Status.Resources[0].Health.Status = "Healthy" }, want: true},
		"one more, which is not listed": {edit: func(set *argo.ApplicationSet) { set.Status.ResourcesCount++ }, want: true},
		"what a step is recorded as": {edit: func(set *argo.ApplicationSet) {
			set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{}}
		}},
		"an error":                          {edit: func(set *argo.ApplicationSet) { synced(set); failing(set) }},
		"the end of an error":               {before: failing, edit: func(set *argo.ApplicationSet) { set.Status.Conditions = nil }, want: true},
		"a status, and somebody's edit":     {edit: func(set *argo.ApplicationSet) { synced(set); set.Generation++ }},
		"a status, and an annotation":       {edit: func(set *argo.ApplicationSet) { synced(set); set.Annotations = map[string]string{"a": "b"} }},
		"a status, and a label":             {edit: func(set *argo.ApplicationSet) { synced(set); set.Labels = map[string]string{"a": "b"} }},
		"a status of another of that name":  {edit: func(set *argo.ApplicationSet) { synced(set); set.UID = "other" }},
		"a status, and the first finalizer": {edit: func(set *argo.ApplicationSet) { synced(set); set.Finalizers = []string{"a"} }},
	} {
		t.Run(name, func(t *testing.T) {
			set := &argo.ApplicationSet{Status: argo.ApplicationSetStatus{ResourcesCount: 1, Resources: []argo.ResourceStatus{{
				Name: "dev", Status: "OutOfSync", Health: &argo.HealthStatus{Status: "Progressing"},
			}}}}
			if tc.before != nil {
				tc.before(set)
			}
			before := argocd.NewPass(set)
			tc.edit(set)
			NewWithT(t).Expect(argocd.NewPass(set).Ended(before)).To(Equal(tc.want))
		})
	}
}
