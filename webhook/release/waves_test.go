// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestChildrenGoOnWhenTheirParentOrdersNothingAnyMore: nobody else would ask soon for what was held.
func TestChildrenGoOnWhenTheirParentOrdersNothingAnyMore(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Waves("-5:crds=Degraded@b 1:dns=Healthy@b 2:byhand=Healthy@b")
	dns, byHand, parent := c.Apps[1], c.Apps[2], c.Apps[3]
	dns.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
	dns.Status.Sync.Status, byHand.Status.Sync.Status = "OutOfSync", "OutOfSync"
	config := scenario.Releasing()
	config.Waves = true
	r := newReleasing(config, c)
	order := types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent("platform")}
	r.blocked.Wait(dns.UID, argocd.UIDOfParent("argocd", "platform"),
		policy.Decision{Outcome: policy.Deny, Reason: policy.NotHealthy})
	g.Expect(r.Reconcile(order)).NotTo(BeZero(), "it waits for crds")
	g.Expect(r.refreshes.Take()).NotTo(ContainElement(ContainSubstring("dns")))

	delete(parent.Annotations, argocd.WavesAnnotation)
	g.Expect(r.Reconcile(order)).To(BeZero())
	g.Expect(r.refreshes.Take()).To(ConsistOf(ContainSubstring("dns")), "Argo CD syncs it by itself, and only it")
}
