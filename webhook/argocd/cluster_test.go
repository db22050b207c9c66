// SPDX-License-Identifier: Apache-2.0

package argocd_test

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/webhook/argocd"
)

func TestTheClusterOfASibling(t *testing.T) {
	for name, tc := range map[string]struct {
		destination argo.ApplicationDestination
		want        string
	}{
		"the one in which Argo CD runs, by its address": {argo.ApplicationDestination{Server: "https://kubernetes.default.svc"}, ""},
		"the one in which Argo CD runs, by its name":    {argo.ApplicationDestination{Name: "in-cluster"}, ""},
		"another one, by its name":                      {argo.ApplicationDestination{Name: "eu-1"}, "eu-1"},
		"another one, by its address":                   {argo.ApplicationDestination{Server: "https://10.0.0.1:6443"}, "10.0.0.1:6443"},
		"none":                                          {argo.ApplicationDestination{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			app := &argo.Application{Spec: argo.ApplicationSpec{Destination: tc.destination}}
			NewWithT(t).Expect(argocd.Sibling(app).Cluster).To(Equal(tc.want))
		})
	}
}

func TestASiblingWhoseSyncIsTriedAgain(t *testing.T) {
	g := NewWithT(t)
	app := &argo.Application{Status: argo.ApplicationStatus{OperationState: &argo.OperationState{Phase: "Running"}}}
	g.Expect(argocd.Sibling(app).LastOperation.Retried).To(BeFalse())
	app.Status.OperationState.RetryCount = 1
	g.Expect(argocd.Sibling(app).LastOperation.Retried).To(BeTrue())
}
