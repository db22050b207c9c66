// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"slices"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
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

// platform is the order that scenario.Waves's parent gives.
var platform = types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent("platform")}

// TestChildrenThatAreDueAreStarted looks once, and once more when the time has come.
func TestChildrenThatAreDueAreStarted(t *testing.T) {
	const dns = "argocd/dns wave 1"
	for name, tc := range map[string]struct {
		scenario string
		edit     func(c *scenario.Cluster, dns, parent *argo.Application)
		want     []string
	}{
		"Argo CD would, and does not": {want: []string{dns}},
		"an earlier wave is not done": {scenario: "-5:crds=Degraded@b 1:dns=Healthy@b"},
		"the parent is to change it": {edit: func(_ *scenario.Cluster, _, parent *argo.Application) {
			parent.Status.Resources = []argo.ResourceStatus{toDeploy("dns", 1)}
		}, want: []string{dns}},
		"the parent is to change it, and its wave has a limit": {edit: func(_ *scenario.Cluster, _, parent *argo.Application) {
			parent.Status.Resources = []argo.ResourceStatus{toDeploy("dns", 1)}
			parent.Annotations[argocd.MaxUpdateAnnotation] = "1=1"
		}, want: []string{dns}},
		"its wave stays manual": {edit: func(_ *scenario.Cluster, _, parent *argo.Application) {
			parent.Annotations[argocd.MaxUpdateAnnotation] = "1=0"
		}},
		"it has no automated sync": {edit: func(_ *scenario.Cluster, dns, _ *argo.Application) { dns.Spec.SyncPolicy = nil }},
		"it has none, and the parent is to change it": {edit: func(_ *scenario.Cluster, dns, parent *argo.Application) {
			dns.Spec.SyncPolicy = nil
			parent.Status.Resources = []argo.ResourceStatus{toDeploy("dns", 1)}
		}},
		"its automated sync is off": {edit: func(_ *scenario.Cluster, dns, _ *argo.Application) {
			dns.Spec.SyncPolicy.Automated.Enabled = ptr.To(false)
		}},
		"the parent orders nothing": {edit: func(_ *scenario.Cluster, _, parent *argo.Application) { parent.Annotations = nil }},
		"the parent is being deleted": {edit: func(_ *scenario.Cluster, _, parent *argo.Application) {
			parent.DeletionTimestamp = &metav1.Time{Time: scenario.Noon}
		}},
		"it fails again and again, and has been overtaken": {edit: func(_ *scenario.Cluster, dns, _ *argo.Application) {
			retrying(t, dns)
		}, want: []string{dns + " ends: it was about to try aaaaaaa again, and wave 1 of Application argocd/platform may " +
			"deploy bbbbbbb"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Waves(cmp.Or(tc.scenario, "-5:crds=Healthy@b 1:dns=Healthy@b"))
			undone(c.Apps[1])
			c.Apps[1].Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
			if tc.edit != nil {
				tc.edit(c, c.Apps[1], c.Apps[2])
			}
			g.Expect(startsOf(c, platform)).To(Equal(tc.want))
		})
	}
}

// toDeploy is a child that a parent has yet to create or to change.
func toDeploy(name string, wave int64) argo.ResourceStatus {
	return argo.ResourceStatus{
		Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: name, Status: "OutOfSync", SyncWave: wave,
	}
}

// TestATrainOfCommitsGoesOn: crds has completed b and goes on to c; dns was compared with c, and Argo CD starts no sync of
// an older commit.
func TestATrainOfCommitsGoesOn(t *testing.T) {
	for paused, want := range map[string][]string{"9": {"argocd/dns wave 1 at bbbbbbb"}, "1": nil} {
		t.Run("paused: wave "+paused, func(t *testing.T) {
			c := scenario.Waves("-5:crds=Progressing@c 1:dns=Healthy@c")
			crds, dns, parent := c.Apps[0], c.Apps[1], c.Apps[2]
			undone(dns)
			dns.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
			ran := func(letter string, ago time.Duration) argo.RevisionHistory {
				return argo.RevisionHistory{
					Revision: scenario.Commit(letter), Source: dns.Spec.GetSource(),
					DeployedAt: metav1.NewTime(scenario.Noon.Add(-ago)),
				}
			}
			crds.Status.History = argo.RevisionHistories{ran("a", 3*time.Hour), ran("b", time.Hour)}
			dns.Status.History = argo.RevisionHistories{ran("a", 2*time.Hour)}
			parent.Annotations[settings.PauseAnnotation] = paused
			config := scenario.Releasing()
			config.Pin, config.Start, config.Waves = settings.PinCandidate, true, true
			r, starter := newReleasing(config, c), &starterFake{}
			r.StartWith(starter)
			r.watch.OperatedAt = scenario.Noon.Add(-time.Hour)
			r.watch.Completed = map[string][]policy.Source{
				"crds": {{Key: argocd.SourceKey(dns.Spec.GetSource()), Revision: scenario.Commit("b")}},
			}
			r.Reconcile(platform)
			r.clock.Step(startGrace)
			r.Reconcile(platform)
			NewWithT(t).Expect(starter.take()).To(Equal(want))
		})
	}
}

// startsOf are the syncs that a Releaser has started of a cluster where a parent may give an order.
func startsOf(c *scenario.Cluster, name types.NamespacedName) []string {
	config := scenario.Releasing()
	config.Waves = true
	r, starter := newReleasing(config, c), &starterFake{}
	r.StartWith(starter)
	r.Reconcile(name)
	r.clock.Step(startGrace)
	r.Reconcile(name)
	return slices.Compact(starter.take())
}

// TestTheApplicationsOfAnApplicationSetWithWavesAreStarted if they have automated sync: its controller asks for nothing.
func TestTheApplicationsOfAnApplicationSetWithWavesAreStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		policy *argo.SyncPolicy
		want   []string
	}{
		"automated sync": {&argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}, []string{"argocd/prod wave 2"}},
		"none":           {},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Of("1:dev=Healthy@b 2:prod=Healthy@b")
			scenario.Pending(c, "prod") // of a strategy that it had before
			c.Sets[0].Spec.Strategy = nil
			c.Sets[0].Annotations = map[string]string{argocd.WavesAnnotation: "true"}
			c.Apps[1].Annotations = map[string]string{synccommon.AnnotationSyncWave: "2"}
			undone(c.Apps[1])
			c.Apps[1].Spec.SyncPolicy = tc.policy
			NewWithT(t).Expect(startsOf(c, guestbook)).To(Equal(tc.want))
		})
	}
}
