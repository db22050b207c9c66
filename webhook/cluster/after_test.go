// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	fakewatch "k8s.io/client-go/tools/cache/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestWhoComesAfterIsToldOfEveryEvent of an Application, by its name and by that of its ApplicationSet, and of an
// ApplicationSet.
func TestWhoComesAfterIsToldOfEveryEvent(t *testing.T) {
	g := NewWithT(t)
	after := func(o metav1.Object, names string) {
		o.SetAnnotations(map[string]string{argocd.AfterAnnotation: names})
	}
	apps, sets := fakewatch.NewFakeControllerSource(), fakewatch.NewFakeControllerSource()
	set := func(name, names string) *argo.ApplicationSet {
		s := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name, UID: types.UID(name)}}
		if names != "" {
			after(s, names)
		}
		return s
	}
	lone, other := watched("lone", ""), watched("other", "u2")
	after(lone, "dev")
	after(other, "elsewhere/dev, set")
	sets.Add(set("shop", "set"))
	sets.Add(set("stranger", "elsewhere/set"))
	apps.Add(lone)
	apps.Add(other)
	apps.Add(watched("dev", "u1"))
	told := make(chan types.NamespacedName, 100)
	c := NewCache(Source{apps, sets})
	c.OnChange(func(name types.NamespacedName) { told <- name })
	go c.Run(t.Context())
	g.Eventually(c.Synced).Should(BeTrue())
	g.Expect(c.Owned("uid-lone")).To(HaveLen(1), "it counts for itself")
	lasting := func() []types.NamespacedName {
		var all []types.NamespacedName
		for {
			select {
			case name := <-told:
				all = append(all, name)
			default:
				return all
			}
		}
	}
	g.Eventually(lasting).Should(BeEmpty())

	apps.Modify(watched("dev", "u1"))
	var heard []types.NamespacedName
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "argocd", Name: name} }
	g.Eventually(func() []types.NamespacedName {
		heard = append(heard, lasting()...)
		return heard
	}).Should(ConsistOf(key("set"), key("shop"), argocd.AloneKey("argocd", "lone"),
		key("set")))

	heard = nil
	sets.Add(set("set", ""))
	g.Eventually(func() []types.NamespacedName {
		heard = append(heard, lasting()...)
		return heard
	}).Should(ConsistOf(key("set"), key("shop"), key("set")))

	heard = nil
	apps.Modify(watched("lone", ""))
	g.Eventually(func() []types.NamespacedName {
		heard = append(heard, lasting()...)
		return heard
	}).Should(ConsistOf(argocd.AloneKey("argocd", "lone")), "it comes after nothing any more")
}

// members are Applications that an API server has, and that are known. The rest of Live and Known is not asked.
type members struct {
	Live
	Known
	apps  []*argocd.Projection
	gets  int
	fails error
}

func (m *members) Versions(_ context.Context, _ string, _ labels.Selector) (all []Version, err error) {
	for _, p := range m.apps {
		all = append(all, Version{Name: p.Name, UID: p.UID, Owner: p.Owner, ResourceVersion: p.ResourceVersion})
	}
	return all, m.fails
}

func (m *members) Application(_ context.Context, name types.NamespacedName) (*argocd.Projection, error) {
	m.gets++
	for _, p := range m.apps {
		if p.Name == name.Name {
			return p, nil
		}
	}
	return nil, nil
}

func (m *members) Owned(owner types.UID) []*argocd.Projection {
	return slices.DeleteFunc(slices.Clone(m.apps), func(p *argocd.Projection) bool { return p.Owner != owner })
}

// TestMembersAreReadLive knows one as it is, and one as it was.
func TestMembersAreReadLive(t *testing.T) {
	g := NewWithT(t)
	member := func(name, version, owner string) *argocd.Projection {
		p := argocd.NewProjection(watched(name, types.UID(owner)))
		p.ResourceVersion = version
		return p
	}
	live := &members{apps: []*argocd.Projection{member("a", "1", "u1"), member("b", "2", "u1"), member("c", "3", "u2")}}
	known := &members{apps: []*argocd.Projection{live.apps[0], member("b", "1", "u1")}}
	set := &policy.ApplicationSet{Namespace: "argocd", Name: "set", UID: "u1"}
	all, err := NewReader(live, known).Members(t.Context(), set)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(ConsistOf(live.apps[0], live.apps[1]))
	g.Expect(live.gets).To(Equal(1), "the current one is not read")
	live.fails = errors.New("the API server does not answer")
	_, err = NewReader(live, known).Members(t.Context(), set)
	g.Expect(err).To(MatchError(live.fails))
}
