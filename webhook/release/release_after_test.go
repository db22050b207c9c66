// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// afterInfra is guestbook, whose dev waits for its sync, and which comes after infra with net; and lone, which nobody
// controls, is OutOfSync with auto-sync on, and comes after infra, too.
func afterInfra() *scenario.Cluster {
	c := scenario.Of("1:dev=Healthy@b")
	scenario.Pending(c, "dev")
	c.Sets = append(c.Sets, scenario.RollingSync("infra", "1"))
	net, lone := scenario.App("net", "1", "Healthy", "a"), scenario.App("lone", "1", "Healthy", "b")
	net.OwnerReferences, lone.OwnerReferences = []metav1.OwnerReference{scenario.OwnedBy("infra")}, nil
	net.UID, lone.UID = "net", "lone"
	lone.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
	lone.Status.Sync.Status = "OutOfSync"
	c.Sets[0].Annotations = map[string]string{settings.AfterAnnotation: "infra"}
	lone.Annotations = map[string]string{settings.AfterAnnotation: "infra"}
	c.Apps = append(c.Apps, net, lone)
	return c
}

// TestWhatComesAfterOthersGetsItsTurn once they are compared, and done. Argo CD polls neither.
func TestWhatComesAfterOthersGetsItsTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		key  types.NamespacedName
		turn string
	}{
		"an ApplicationSet":                   {guestbook, "argocd/dev its turn has come: " + scenario.Commit("b") + " at 11:59:00"},
		"an Application that nobody controls": {argocd.AloneKey("argocd", "lone"), "argocd/lone its turn has come: " + scenario.Commit("b") + " at 11:59:00"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := afterInfra()
			net := c.Apps[1]
			r := newReleasing(scenario.Releasing(), c)
			look := func() []string {
				r.Reconcile(tc.key)
				r.clock.Step(time.Second + jitter)
				r.Reconcile(tc.key)
				return r.refreshes.Take()
			}
			net.Status.Health.Status = "Degraded"
			g.Expect(look()).To(BeEmpty(), "nobody can help")
			net.Status.Health.Status = "Healthy"
			r.watch.Stale = map[types.UID]bool{"net": true}
			g.Expect(look()).To(Equal([]string{
				"argocd/net NotCompleted not known to be compared since the change was seen at 11:59:00",
			}))
			r.watch.Stale = nil
			g.Expect(look()).To(Equal([]string{tc.turn}))
		})
	}
}

// TestNobodyIsWokenWhomNobodyHasHeld comes after others that are done: Argo CD syncs it at once.
func TestNobodyIsWokenWhomNobodyHasHeld(t *testing.T) {
	g := NewWithT(t)
	r := newReleasing(scenario.Releasing(), afterInfra())
	r.Reconcile(argocd.AloneKey("argocd", "lone"))
	r.clock.Step(time.Minute)
	r.Reconcile(argocd.AloneKey("argocd", "lone"))
	g.Expect(r.refreshes.Take()).To(BeEmpty())
}

// TestAnApplicationThatIsNoneAnyMore is not looked at: it is gone, or has got an ApplicationSet.
func TestAnApplicationThatIsNoneAnyMore(t *testing.T) {
	g := NewWithT(t)
	c := afterInfra()
	r := newReleasing(scenario.Releasing(), c)
	g.Expect(r.Reconcile(argocd.AloneKey("argocd", "gone"))).To(BeZero())
	c.Apps[2].OwnerReferences = []metav1.OwnerReference{scenario.OwnedBy("infra")}
	c.Apps[2].OwnerReferences[0].Controller = ptr.To(true)
	g.Expect(r.Reconcile(argocd.AloneKey("argocd", "lone"))).To(BeZero())
}

// TestAnApplicationThatComesAfterNothingAnyMore was denied, and is asked for once the annotation is gone.
func TestAnApplicationThatComesAfterNothingAnyMore(t *testing.T) {
	g := NewWithT(t)
	c := afterInfra()
	net, lone := c.Apps[1], c.Apps[2]
	net.Status.Health.Status = "Degraded"
	r := newReleasing(scenario.Releasing(), c)
	g.Expect(r.Reconcile(argocd.AloneKey("argocd", "lone"))).NotTo(BeZero(), "it waits")
	lone.Annotations = nil
	for range 2 {
		g.Expect(r.Reconcile(argocd.AloneKey("argocd", "lone"))).To(BeZero())
	}
	g.Expect(r.refreshes.Take()).To(Equal([]string{"argocd/lone its turn has come at 11:59:00"}), "once")
}
