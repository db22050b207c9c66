// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestWhoeverWritesTrackingIsTold what does not exist, which parent counts, and which wave is none. What is right brings
// no warning.
func TestWhoeverWritesTrackingIsTold(t *testing.T) {
	r := newRolloutWith(t, installed.Options{Waves: true, Args: []string{"--waves"}})
	r.lone("platform", map[string]string{settings.WavesAnnotation: "true"})
	app := r.lone("base", nil)
	heard := &warnings{}
	admin, err := shared.ClientWithWarnings(cluster.Human, heard)
	r.Expect(err).NotTo(HaveOccurred())
	write := func(parent, wave, label string) []string {
		heard.all = nil
		before := app.DeepCopy()
		app.Annotations = map[string]string{
			"argocd.argoproj.io/tracking-id": parent + ":argoproj.io/Application:" + app.Namespace + "/base",
			"argocd.argoproj.io/sync-wave":   wave,
		}
		app.Labels = map[string]string{"app.kubernetes.io/instance": label}
		r.Expect(admin.Patch(r.ctx, app, client.MergeFrom(before))).To(Succeed())
		return heard.all
	}
	own := app.Namespace + "_"
	times := 0
	r.Eventually(func() []string { // the gate has to have seen platform, and looks only at what changes
		times++
		return write(fmt.Sprintf("%snobody-%d", own, times), "1", own+"platform")
	}).Should(ConsistOf(
		MatchRegexp("is of Application "+app.Namespace+"/nobody-[0-9]+, which does not exist: nobody orders this one"),
		ContainSubstring("and the label app.kubernetes.io/instance of "+app.Namespace+"/platform, which has waves"),
	))
	r.Expect(write(own+"platform", "ten", "base")).To(ConsistOf(ContainSubstring("no number, and Argo CD counts it as 0")))
	r.Expect(write(own+"platform", "10", "base")).To(BeEmpty())
}

// TestAChildThatIsAnApplicationSet holds later waves until it has generated its Applications, and whoever waits for it is
// woken by what its controller reports. What comes after the parent waits for the children.
func TestAChildThatIsAnApplicationSet(t *testing.T) {
	r := newRolloutWith(t, installed.Options{Waves: true, Args: []string{"--waves"}})
	parent := r.lone("platform", map[string]string{settings.WavesAnnotation: "true"})
	track := func(kind, name, wave string) map[string]string {
		return map[string]string{
			"argocd.argoproj.io/tracking-id": fmt.Sprintf("%[1]s_platform:argoproj.io/%[2]s:%[1]s/%[3]s", parent.Namespace, kind, name),
			"argocd.argoproj.io/sync-wave":   wave,
		}
	}
	before := parent.DeepCopy()
	guestbook.Compare(parent, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
	parent.Status.Resources = []argo.ResourceStatus{{
		Group: "argoproj.io", Kind: "ApplicationSet", Namespace: parent.Namespace, Name: "addons", SyncWave: 5,
		Status: argo.SyncStatusCodeOutOfSync,
	}}
	r.Expect(shared.Admin.Patch(r.ctx, parent, client.MergeFrom(before))).To(Succeed())
	web := r.lone("web", track("Application", "web", "9"))
	shop := r.lone("shop", map[string]string{settings.AfterAnnotation: "platform"})

	err := r.starts(web, false)
	r.Expect(err).To(MatchError(And(ContainSubstring("wave 9 of Application"),
		ContainSubstring("applicationset:addons (NotGenerated: it does not exist yet"))))
	addons := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: parent.Namespace, Name: "addons", Annotations: track("ApplicationSet", "addons", "5"),
	}}
	addons.Spec.Generators = []argo.ApplicationSetGenerator{{List: &argo.ListGenerator{}}}
	addons.Spec.Template, addons.Spec.Strategy = r.Set.Spec.Template, r.Set.Spec.Strategy // an order of its own
	r.Expect(shared.Admin.Create(r.ctx, addons)).To(Succeed())
	r.Expect(r.starts(web, false)).To(MatchError(ContainSubstring(
		"applicationset:addons (NotGenerated: its controller has not written all of its Applications)")))
	r.Expect(r.starts(shop, false)).To(MatchError(And(ContainSubstring("it comes after platform, which is not done"),
		ContainSubstring("applicationset:addons (NotGenerated"), ContainSubstring("web (NotCompleted"))))
	const unwritten = "NotGenerated: its controller has not written all of its Applications"
	explained := r.ask("explain", "web")
	r.Expect(explained.out).To(ContainSubstring("applicationset:addons ("+unwritten), explained.err)
	r.Expect(r.ask("explain", "shop").out).To(ContainSubstring("web (NotCompleted"))
	set := r.Set.DeepCopy()
	r.Set.Annotations = map[string]string{settings.AfterAnnotation: "platform"}
	r.Expect(shared.Admin.Patch(r.ctx, r.Set, client.MergeFrom(set))).To(Succeed())
	after := r.ask("get", "guestbook")
	r.Expect(after.out).To(MatchRegexp("platform \\(not done: applicationset:addons "+unwritten+".* web NotCompleted"),
		after.err)
	shown := r.ask("get", "platform")
	r.Expect(shown.out).To(And(ContainSubstring("wave 5"), MatchRegexp("applicationset:addons +"+unwritten)), shown.err)

	r.Expect(r.starts(web, true)).To(Succeed())
	r.Expect(web.Operation).To(BeNil(), "it is held")
	old := addons.DeepCopy()
	addons.Status.Conditions = []argo.ApplicationSetCondition{{
		Type: argo.ApplicationSetConditionResourcesUpToDate, Status: argo.ApplicationSetConditionStatusTrue,
		LastTransitionTime: &metav1.Time{Time: r.Tick()}, Reason: argo.ApplicationSetReasonApplicationSetUpToDate,
		Message: "All applications have been generated successfully",
	}}
	r.Expect(shared.Admin.Status().Patch(r.ctx, addons, client.MergeFrom(old))).To(Succeed())
	r.Eventually(func() string { return r.refreshOf(web) }).Should(Equal("normal"), "its turn has come")
	r.Expect(r.starts(web, true)).To(Succeed())
	r.Expect(web.Operation).NotTo(BeNil())
}
