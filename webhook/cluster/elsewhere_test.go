// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	fakewatch "k8s.io/client-go/tools/cache/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// by finds children in every namespace.
var by = argocd.Tracking{Home: "argocd"}

// away is a child of argocd/platform in another namespace.
func away(namespace, name, wave string) *argo.Application {
	app := watched(name, "")
	app.Namespace, app.UID = namespace, types.UID(namespace+"-"+name)
	app.Annotations[common.AnnotationKeyAppInstance] = "platform:argoproj.io/Application:" + namespace + "/" + name
	app.Annotations[synccommon.AnnotationSyncWave] = wave
	return app
}

// deploying is the parent, which says that it deploys these, NAMESPACE/NAME.
func deploying(names ...string) *argo.Application {
	app := watched("platform", "")
	app.Annotations[argocd.WavesAnnotation] = "true"
	for _, n := range names {
		namespace, name, _ := strings.Cut(n, "/")
		app.Status.Resources = append(app.Status.Resources, argo.ResourceStatus{
			Group: "argoproj.io", Kind: "Application", Namespace: namespace, Name: name, Status: argo.SyncStatusCodeSynced,
		})
	}
	return app
}

// world is what an API server has of Applications, in all namespaces.
type world struct {
	Live
	apps []*argo.Application
	gets []string
}

func (w *world) Versions(_ context.Context, namespace string, _ labels.Selector) (all []Version, err error) {
	for _, app := range w.apps {
		if owner, set := by.OwnerOf(app); app.Namespace == namespace {
			all = append(all, Version{
				Name: app.Name, UID: app.UID, Owner: owner, Set: set.Name, ResourceVersion: app.ResourceVersion,
				Labels: argocd.Labels(app.Labels, app.Annotations),
			})
		}
	}
	return all, nil
}

func (w *world) Application(_ context.Context, name types.NamespacedName) (*argocd.Projection, error) {
	w.gets = append(w.gets, name.String())
	for _, app := range w.apps {
		if (types.NamespacedName{Namespace: app.Namespace, Name: app.Name}) == argocd.ObjectName(name) {
			return by.Projection(app).As(name), nil
		}
	}
	return nil, nil
}

// TestMembersElsewhereAreReadLive by both ways: a LIST of each namespace, and a barrier in large ones. Who only says that
// the parent deploys it is no member.
func TestMembersElsewhereAreReadLive(t *testing.T) {
	here := func(name, wave string) *argo.Application { return away("argocd", name, wave) }
	for name, row := range map[string]struct {
		known, live []*argo.Application
		deploys     []string
		want        string
		// gets are the reads of single Applications after a LIST, and proven after a barrier.
		gets, proven string
	}{
		"all are known": {
			known: []*argo.Application{here("base", "0"), away("team", "shop", "1")}, deploys: []string{"team/shop"},
			want: "base=0 team/shop=1",
		},
		"two of one name": {
			known: []*argo.Application{here("shop", "0"), away("team", "shop", "1")}, deploys: []string{"team/shop"},
			want: "shop=0 team/shop=1",
		},
		"in three namespaces": {
			known: []*argo.Application{away("a", "x", "-2"), away("b", "x", "3")}, deploys: []string{"a/x", "b/x"},
			want: "a/x=-2 b/x=3",
		},
		"one is not known yet": {
			live: []*argo.Application{away("team", "shop", "1")}, deploys: []string{"team/shop"},
			want: "team/shop=1", gets: "argocd/team/shop", proven: "argocd/team/shop",
		},
		"one does not exist yet": {deploys: []string{"team/shop"}, proven: "argocd/team/shop"},
		"one that only says so":  {known: []*argo.Application{away("team", "shop", "-9"), here("base", "0")}, want: "base=0"},
		"one that only says so, where the parent has another": {
			known:   []*argo.Application{away("team", "shop", "-9"), away("team", "cart", "1")},
			deploys: []string{"team/cart"}, want: "team/cart=1",
		},
		"the parent says so, and it does not": {
			known:   []*argo.Application{func() *argo.Application { a := watched("shop", ""); a.Namespace = "team"; return a }()},
			deploys: []string{"team/shop"}, proven: "argocd/team/shop",
		},
	} {
		for _, barrier := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, barrier %t", name, barrier), func(t *testing.T) {
				g := NewWithT(t)
				parent := deploying(row.deploys...)
				source := fakewatch.NewFakeControllerSource()
				source.Add(parent)
				for _, app := range row.known {
					source.Add(app)
				}
				c := NewCache(Source{source, fakewatch.NewFakeControllerSource()})
				c.Track(by)
				go c.Run(t.Context())
				g.Eventually(c.Synced).Should(BeTrue())
				g.Eventually(c.Position).Should(BeEquivalentTo(1 + len(row.known)))

				// The source numbers what it stores.
				w := &world{}
				for _, object := range c.stores[0].applications.List() {
					p, _ := object.(*argocd.Projection)
					for _, app := range append([]*argo.Application{parent}, row.known...) {
						if p.UID == app.UID {
							app = app.DeepCopy()
							app.ResourceVersion = p.ResourceVersion
							w.apps = append(w.apps, app)
						}
					}
				}
				w.apps = append(w.apps, row.live...)
				set := by.Projection(parent).Waves
				reader, gets := NewReader(w, c), row.gets
				if barrier {
					gets = row.proven
					object := &barrierObject{versions: []string{"7"}}
					b, _ := newBarrier(object, lendingWatch{arriving{newest: "1", reached: map[string]time.Duration{"7": 0}}, c})
					reader = reader.WithBarrier(b, func(string) int { return ShortList/len(set.Namespaces()) + 1 })
				}
				siblings, err := reader.Current(t.Context(), &set.ApplicationSet, policy.WaveStep(1000), nil)
				g.Expect(err).NotTo(HaveOccurred())
				var found []string
				for _, s := range siblings {
					found = append(found, fmt.Sprintf("%s=%d", s.Name, policy.StepNumber(s.Step)))
				}
				slices.Sort(found)
				g.Expect(strings.Join(found, " ")).To(Equal(row.want))
				g.Expect(strings.Join(w.gets, " ")).To(Equal(gets))

				members, err := reader.Members(t.Context(), &set.ApplicationSet)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(members).To(HaveLen(len(found)))
				for _, m := range members {
					g.Expect(m.Namespace).To(Equal("argocd"))
					g.Expect(c.Owned(types.UID(set.UID))).To(Or(ContainElement(m), Not(HaveLen(len(found)))))
				}
			})
		}
	}
}

// TestOneThatOnlySaysSoIsRead and is no member: neither by its name, nor where the watch has an older parent.
func TestOneThatOnlySaysSoIsRead(t *testing.T) {
	g := NewWithT(t)
	source := fakewatch.NewFakeControllerSource()
	source.Add(deploying("team/shop"))
	source.Add(away("team", "shop", "-9"))
	c := NewCache(Source{source, fakewatch.NewFakeControllerSource()})
	c.Track(by)
	go c.Run(t.Context())
	g.Eventually(c.Synced).Should(BeTrue())
	g.Eventually(c.Position).Should(BeEquivalentTo(2))
	w, set := &world{apps: []*argo.Application{away("team", "shop", "-9")}}, by.Projection(deploying()).Waves
	g.Expect(c.Owned(types.UID(set.UID))).To(HaveLen(1))

	b, _ := newBarrier(&barrierObject{versions: []string{"7"}},
		lendingWatch{arriving{newest: "1", reached: map[string]time.Duration{"7": 0}}, c})
	reader := NewReader(w, c)
	found, err := reader.Application(t.Context(), &set.ApplicationSet, "team/shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(BeNil())
	proving := reader.WithBarrier(b, func(string) int { return ShortList + 1 })
	members, err := proving.Members(t.Context(), &set.ApplicationSet)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(members).To(BeEmpty())
}

// TestTheCacheTellsTheOrderOfMembersElsewhere: whoever looks at what orders them is told of their events, and finds them
// by both names.
func TestTheCacheTellsTheOrderOfMembersElsewhere(t *testing.T) {
	g := NewWithT(t)
	source := fakewatch.NewFakeControllerSource()
	source.Add(deploying("team/shop"))
	told := make(chan types.NamespacedName, 100)
	c := NewCache(Source{source, fakewatch.NewFakeControllerSource()})
	c.Track(by)
	c.OnChange(func(name types.NamespacedName) { told <- name })
	go c.Run(t.Context())
	g.Eventually(c.Synced).Should(BeTrue())
	g.Eventually(c.Position).Should(BeEquivalentTo(1))
	for len(told) > 0 {
		<-told
	}
	order := types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent("platform")}
	source.Add(away("team", "shop", "20"))
	g.Eventually(told).Should(Receive(Equal(order)))
	set, _ := c.Set(order)
	g.Eventually(func() int { return len(c.Siblings(&set.ApplicationSet)) }).Should(Equal(1))
	g.Expect(c.History(&set.ApplicationSet, 0, 0).Of("team/shop").Step).To(Equal(policy.WaveStep(20) + 1))

	own := c.Application(types.NamespacedName{Namespace: "team", Name: "shop"})
	member := c.Application(types.NamespacedName{Namespace: "argocd", Name: "team/shop"})
	g.Expect(own.Namespace + " " + own.Name + " " + own.Set).To(Equal("team shop "))
	g.Expect(member.Namespace + " " + member.Name + " " + member.Set).To(Equal("argocd team/shop waves/platform"))
	g.Expect(c.Owned(types.UID(set.UID))).To(ConsistOf(BeIdenticalTo(member)))
	g.Expect(c.has(own.Object(), own.UID, []types.UID{types.UID(set.UID)})).To(BeTrue())

	source.Modify(deploying()) // Argo CD says that the parent deploys it no more
	g.Eventually(func() []*argocd.Projection { return c.Owned(types.UID(set.UID)) }).Should(BeEmpty())
	parent := deploying()
	delete(parent.Annotations, argocd.WavesAnnotation)
	source.Modify(parent)
	g.Eventually(c.Sets).Should(BeEmpty())
	g.Expect(c.Owned(types.UID(set.UID))).To(HaveLen(1), "somebody has to let it go")
}
