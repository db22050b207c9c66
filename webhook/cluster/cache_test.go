// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fakewatch "k8s.io/client-go/tools/cache/testing"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// watched is an Application with much that nobody needs.
func watched(name string, owner types.UID) *argo.Application {
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: name, UID: types.UID("uid-" + name),
		Labels: map[string]string{"env": name}, Annotations: map[string]string{"note": "x"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "argocd-application-controller"}},
	}}
	if owner != "" {
		app.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set", UID: owner, Controller: ptr.To(true),
		}}
	}
	app.Status.Health.Status = "Healthy"
	app.Status.ReconciledAt = ptr.To(metav1.NewTime(time.Unix(1_700_000_000, 0)))
	app.Status.Resources = []argo.ResourceStatus{{Kind: "Deployment", Name: "x"}}
	return app
}

func TestTheCacheKeepsProjectionsByOwner(t *testing.T) {
	g := NewWithT(t)
	source := fakewatch.NewFakeControllerSource()
	source.Add(watched("dev", "u1"))
	source.Add(watched("alone", ""))
	follower := watched("follower", "")
	follower.Annotations[argocd.AfterAnnotation] = "set"
	source.Add(follower)
	source.Add(watched("other", "u2"))
	c := NewCache(Source{source, fakewatch.NewFakeControllerSource()})
	g.Expect(c.Synced()).To(BeFalse())
	g.Expect(c.Owned("u1")).To(BeEmpty())
	go c.Run(t.Context())
	g.Eventually(c.Synced).Should(BeTrue())

	app := watched("dev", "u1")
	known := c.Owned("u1")
	g.Expect(known).To(HaveLen(1))
	g.Expect(known[0].Application).To(Equal(argocd.Sibling(app)))
	g.Expect(known[0].UID).To(Equal(app.UID))
	g.Expect(known[0].Annotations).To(BeZero())
	g.Expect(known[0].ManagedFields).To(BeNil())
	g.Expect(c.Owned("")).To(BeEmpty())
	g.Expect(c.Alone()).To(HaveLen(1))
	g.Expect(c.Alone()[0].Name).To(Equal("follower"))
	g.Eventually(c.Position).Should(BeEquivalentTo(4))

	degraded := watched("dev", "u1")
	degraded.Status.Health.Status = "Degraded"
	source.Modify(degraded)
	g.Eventually(func() string {
		return c.Owned("u1")[0].Application.Health
	}).Should(Equal("Degraded"))

	dev, before := types.NamespacedName{Namespace: "argocd", Name: "dev"}, c.Position()
	refresh := degraded.DeepCopy()
	refresh.Annotations[argo.AnnotationKeyRefresh] = "normal"
	source.Modify(refresh)
	g.Eventually(func() bool { return c.Requested(dev, before) }).Should(BeTrue())
	g.Expect(c.Requested(dev, c.Position())).To(BeFalse(), "not since then")
	g.Expect(c.Requested(types.NamespacedName{Namespace: "argocd", Name: "unknown"}, 0)).To(BeFalse())
	source.Delete(degraded)
	g.Eventually(func() int { return len(c.Owned("u1")) }).Should(BeZero())
}

// With one watch per namespace, the Cache is complete when all of them are, and knows what each of them gives.
func TestTheCacheWatchesSeveralNamespaces(t *testing.T) {
	g := NewWithT(t)
	one, two := fakewatch.NewFakeControllerSource(), fakewatch.NewFakeControllerSource()
	one.Add(watched("dev", "u1"))
	elsewhere := watched("dev", "u2")
	elsewhere.Namespace, elsewhere.UID = "team-a", "uid-elsewhere"
	two.Add(elsewhere)
	late := &gatedSource{FakeControllerSource: two, open: make(chan struct{})}
	sets := fakewatch.NewFakeControllerSource()
	c := NewCache(Source{one, sets}, Source{late, sets})
	go c.Run(t.Context())
	g.Eventually(func() int { return len(c.Owned("u1")) }).Should(Equal(1))
	g.Expect(c.Synced()).To(BeFalse(), "one namespace has not been listed")
	close(late.open)
	g.Eventually(c.Synced).Should(BeTrue())
	g.Expect(c.Owned("u1")).To(HaveLen(1))
	g.Expect(c.Owned("u2")).To(HaveLen(1))
	g.Expect(c.Owned("u2")[0].Namespace).To(Equal("team-a"))
}

// gatedSource lists only once it is open.
type gatedSource struct {
	*fakewatch.FakeControllerSource
	open chan struct{}
}

// List waits until the source is open.
func (s *gatedSource) List(options metav1.ListOptions) (runtime.Object, error) {
	<-s.open
	return s.FakeControllerSource.List(options)
}

func TestTheCacheTellsHowFarItsWatchesAre(t *testing.T) {
	g := NewWithT(t)
	source := fakewatch.NewFakeControllerSource()
	source.Add(watched("dev", "u1"))
	c := NewCache(Source{source, fakewatch.NewFakeControllerSource()})
	g.Expect(c.Watched()).To(Equal([]Watched{{}}))
	go c.Run(t.Context())
	g.Eventually(c.Synced).Should(BeTrue())
	g.Expect(c.Watched()[0].Applications).To(Equal("1"))
	changed := watched("dev", "u1")
	changed.Status.Health.Status = "Degraded"
	source.Modify(changed)
	g.Eventually(func() string { return c.Watched()[0].Applications }).Should(Equal("2"))
}
