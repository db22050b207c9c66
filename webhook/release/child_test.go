// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestTheApplicationsOfAChildAreReleasedByItsParent: as long as that gives an order, nobody looks at them as those of their
// ApplicationSet, which would take them for free to sync.
func TestTheApplicationsOfAChildAreReleasedByItsParent(t *testing.T) {
	for crds, want := range map[string]bool{"Degraded": false, "Healthy": true} {
		g := NewWithT(t)
		c := scenario.Waves("-5:crds=" + crds + "@b -9:dns=Healthy@b")
		dns, parent := c.Apps[1], c.Apps[2]
		dns.OwnerReferences = []metav1.OwnerReference{scenario.OwnedBy("addons")}
		delete(dns.Annotations, common.AnnotationKeyAppInstance)
		dns.Status.Sync.Status = "OutOfSync"
		dns.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
		set := scenario.RollingSync("addons")
		set.Spec.Strategy, set.Annotations = nil, map[string]string{
			common.AnnotationKeyAppInstance: "platform:argoproj.io/ApplicationSet:argocd/addons",
			synccommon.AnnotationSyncWave:   "3",
		}
		c.Sets = append(c.Sets, set)
		config := scenario.Releasing()
		config.Waves = true
		r := newReleasing(config, c)
		r.blocked.Wait(dns.UID, "addons-uid", policy.Decision{Outcome: policy.Deny, Reason: policy.NotHealthy})
		addons := types.NamespacedName{Namespace: "argocd", Name: "addons"}
		platform := types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent("platform")}
		look := func(name types.NamespacedName) (asked []string) {
			for range 3 {
				r.clock.Step(r.Reconcile(name))
				asked = append(asked, r.refreshes.Take()...)
			}
			return asked
		}
		g.Expect(r.Reconcile(addons)).To(BeZero())
		g.Expect(r.refreshes.Take()).To(BeEmpty())
		g.Expect(len(look(platform)) > 0).To(Equal(want))

		delete(parent.Annotations, argocd.WavesAnnotation)
		g.Expect(r.Reconcile(platform)).To(BeZero())
		g.Expect(r.Reconcile(addons)).NotTo(BeZero(), "it waits for nobody any more, and is looked at here again")
	}
}
