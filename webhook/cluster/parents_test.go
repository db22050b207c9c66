// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	fakewatch "k8s.io/client-go/tools/cache/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestTheCacheKnowsWhatParentsOrder: a parent stands among the ApplicationSets as long as it gives an order, and whoever
// looks at its children is told of every event of it and of them.
func TestTheCacheKnowsWhatParentsOrder(t *testing.T) {
	g := NewWithT(t)
	child := func(name, wave string) *argo.Application {
		app := watched(name, "")
		app.Annotations[common.AnnotationKeyAppInstance] = "platform:argoproj.io/Application:argocd/" + name
		app.Annotations[synccommon.AnnotationSyncWave] = wave
		return app
	}
	parent := watched("platform", "")
	parent.Annotations[argocd.WavesAnnotation] = "true"
	key := types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent("platform")}
	uid := argocd.UIDOfParent("argocd", "platform")

	source := fakewatch.NewFakeControllerSource()
	source.Add(child("a", "-1"))
	source.Add(parent)
	source.Add(watched("lone", ""))
	told := make(chan types.NamespacedName, 100)
	c := NewCache(Source{source, fakewatch.NewFakeControllerSource()})
	c.OnChange(func(name types.NamespacedName) { told <- name })
	go c.Run(t.Context())
	g.Eventually(c.Synced).Should(BeTrue())
	g.Eventually(c.Position).Should(BeEquivalentTo(3))

	set, version := c.Set(key)
	g.Expect(set.Waves).To(BeTrue())
	g.Expect(version.UID).To(Equal(uid))
	g.Expect(c.Sets()).To(ConsistOf(set))
	g.Expect(c.Owned(uid)).To(HaveLen(1))
	g.Expect(c.Siblings(&set.ApplicationSet)).To(HaveLen(1))
	g.Expect(c.Siblings(&set.ApplicationSet)[0].Step).To(Equal(policy.WaveStep(-1)))

	for len(told) > 0 {
		<-told
	}
	source.Add(child("b", "20"))
	g.Eventually(told).Should(Receive(Equal(key)))
	g.Eventually(func() int { return len(c.Siblings(&set.ApplicationSet)) }).Should(Equal(2))
	g.Expect(c.History(&set.ApplicationSet, 0, 0).Of("b").Step).To(Equal(policy.WaveStep(20) + 1))

	source.Modify(child("b", "3")) // a wave in the middle
	g.Eventually(told).Should(Receive(Equal(key)))
	g.Eventually(func() int {
		for _, s := range c.Siblings(&set.ApplicationSet) {
			if s.Name == "b" {
				return s.Step
			}
		}
		return 0
	}).Should(Equal(policy.WaveStep(3)))
	g.Expect(c.History(&set.ApplicationSet, 0, 0).Of("b").Step).To(Equal(policy.WaveStep(20)+1),
		"it has just left the later one")

	parent = parent.DeepCopy()
	delete(parent.Annotations, argocd.WavesAnnotation)
	source.Modify(parent)
	g.Eventually(told).Should(Receive(Equal(key)), "whom it has held waits for nobody any more")
	g.Eventually(c.Sets).Should(BeEmpty())
	set, _ = c.Set(key)
	g.Expect(set).To(BeNil())
}
