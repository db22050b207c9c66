// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	fakewatch "k8s.io/client-go/tools/cache/testing"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/history"
)

var (
	platform    = types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent("platform")}
	platformUID = argocd.UIDOfParent("argocd", "platform")
)

// parent is argocd/platform, which gives its children an order.
func parent() *argo.Application {
	app := watched("platform", "")
	app.Annotations[argocd.WavesAnnotation] = "true"
	return app
}

// childSet is the ApplicationSet set, a child of argocd/platform in a wave.
func childSet(wave string) *argo.ApplicationSet {
	return &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: "set", UID: "u1", ResourceVersion: wave, Annotations: map[string]string{
			common.AnnotationKeyAppInstance: "platform:argoproj.io/ApplicationSet:argocd/set",
			synccommon.AnnotationSyncWave:   wave,
		},
	}}
}

// ofParent is an Application that is a child itself.
func ofParent(name string) *argo.Application {
	app := watched(name, "")
	app.Annotations[common.AnnotationKeyAppInstance] = "platform:argoproj.io/Application:argocd/" + name
	return app
}

// rolling is a child that gives an order of its own.
func rolling(set *argo.ApplicationSet) *argo.ApplicationSet {
	set.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{Steps: []argo.ApplicationSetRolloutStep{{}}},
	}
	return set
}

// ofChild is an Application that the ApplicationSet controls, in a wave of its own.
func ofChild(name string) *argo.Application {
	app := watched(name, "u1")
	app.Annotations[synccommon.AnnotationSyncWave] = "-99"
	return app
}

// inWaves are Applications by name and wave: "a=3 b=3".
func inWaves(siblings []policy.Sibling) string {
	var all []string
	for _, s := range siblings {
		all = append(all, fmt.Sprint(s.Name, "=", policy.StepNumber(s.Step)))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// cacheOf is a Cache of sources, and what it tells.
func cacheOf(t *testing.T, apps, sets *fakewatch.FakeControllerSource) (*Cache, chan types.NamespacedName) {
	t.Helper()
	told := make(chan types.NamespacedName, 1000)
	c := NewCache(Source{apps, sets})
	c.OnChange(func(name types.NamespacedName) { told <- name })
	go c.Run(t.Context())
	NewWithT(t).Eventually(c.Synced).Should(BeTrue())
	return c, told
}

// TestTheCacheKnowsTheApplicationsOfAChild: they are members of the order of its parent, in its wave, as long as it gives
// no order itself; and whoever looks at that order is told of every event of them and of it.
func TestTheCacheKnowsTheApplicationsOfAChild(t *testing.T) {
	g := NewWithT(t)
	apps, sets := fakewatch.NewFakeControllerSource(), fakewatch.NewFakeControllerSource()
	apps.Add(parent())
	apps.Add(ofChild("dns"))
	apps.Add(watched("lone", ""))
	apps.Add(watched("other", "u2"))
	forged := ofChild("forged")
	forged.Namespace = "other"
	apps.Add(forged)
	sets.Add(childSet("3"))
	c, told := cacheOf(t, apps, sets)
	order, _ := c.Set(platform)
	members := func() string {
		siblings, owned := inWaves(c.Siblings(&order.ApplicationSet)), c.Owned(platformUID)
		g.Expect(inWaves(c.InSteps(&order.ApplicationSet, owned))).To(Equal(siblings))
		for _, p := range owned {
			g.Expect(p.Owner).To(BeEquivalentTo("u1"))
		}
		return siblings
	}
	quiet := func() {
		for len(told) > 0 {
			<-told
		}
	}
	g.Eventually(members).Should(Equal("dns=3"))
	g.Expect(c.History(&order.ApplicationSet, 0, 0).Joined).To(BeZero(), "nobody has seen it join")
	g.Expect(c.Owned("u1")).To(HaveLen(2), "with the one that only says so")
	g.Expect(c.Owned("u1")[0].Lender).To(BeNil(), "it is as it was")
	g.Expect(c.Owned("u1")[0].Application.Labels[policy.WaveLabel]).To(Equal("-99"))
	g.Expect(c.Owned(platformUID)[0]).To(BeIdenticalTo(c.Owned(platformUID)[0]), "it is made once")

	quiet()
	apps.Add(ofChild("mesh"))
	g.Eventually(told).Should(Receive(Equal(platform)))
	g.Eventually(members).Should(Equal("dns=3 mesh=3"))
	g.Expect(c.History(&order.ApplicationSet, 0, 0).Joined).NotTo(BeZero())
	g.Expect(c.History(&order.ApplicationSet, 0, 0).Of("mesh").Step).To(Equal(policy.WaveStep(3) + 1))

	quiet()
	changed := ofChild("dns")
	changed.Status.Health.Status = "Degraded"
	apps.Modify(changed)
	g.Eventually(told).Should(Receive(Equal(platform)))
	g.Eventually(func() string { return c.Siblings(&order.ApplicationSet)[0].Health }).Should(Equal("Degraded"))

	quiet()
	sets.Modify(childSet("-2"))
	g.Eventually(told).Should(Receive(Equal(platform)))
	g.Eventually(members).Should(Equal("dns=-2 mesh=-2"))
	seen := c.History(&order.ApplicationSet, 0, 0)
	g.Expect(seen.Of("dns").Step).To(Equal(policy.WaveStep(3)+1), "it has just left the later one")
	g.Expect(seen.Of("dns").Relabelled).To(BeTrue())
	g.Expect(seen.Joined).To(BeTemporally("~", time.Now(), 5*time.Second))

	quiet()
	sets.Modify(rolling(childSet("-2")))
	g.Eventually(told).Should(Receive(Equal(platform)), "whoever waits for them waits no more")
	g.Eventually(members).Should(BeEmpty())
	g.Expect(c.Owned(platformUID)).To(BeEmpty())

	quiet()
	sets.Modify(childSet("4"))
	g.Eventually(told).Should(Receive(Equal(platform)))
	g.Eventually(members).Should(Equal("dns=4 mesh=4"))

	quiet()
	apps.Delete(ofChild("mesh"))
	g.Eventually(told).Should(Receive(Equal(platform)))
	g.Eventually(members).Should(Equal("dns=4"))

	set := types.NamespacedName{Namespace: "argocd", Name: "set"}
	quiet()
	none := parent()
	delete(none.Annotations, argocd.WavesAnnotation)
	apps.Modify(none)
	g.Eventually(told).Should(Receive(Equal(set)), "its Applications are looked at there again")
	quiet()
	apps.Modify(parent())
	g.Eventually(told).Should(Receive(Equal(set)))

	quiet()
	sets.Delete(childSet("4"))
	g.Eventually(told).Should(Receive(Equal(platform)))
	g.Eventually(members).Should(BeEmpty())
	g.Expect(c.Owned(platformUID)).To(BeEmpty())
	g.Expect(c.Owned("u1")).To(HaveLen(2))

	quiet()
	apps.Modify(ofChild("dns"))
	g.Eventually(told).Should(Receive(Equal(set)))
	g.Consistently(told).WithTimeout(50 * time.Millisecond).ShouldNot(Receive(Equal(platform)))
	g.Expect(c.lent).To(BeEmpty())
	g.Expect(c.lenders).To(BeEmpty())
}

// TestWhatChangesForAChildIsToldItsParent: what it comes after, and the sync windows of its Applications.
func TestWhatChangesForAChildIsToldItsParent(t *testing.T) {
	g := NewWithT(t)
	apps, sets := fakewatch.NewFakeControllerSource(), fakewatch.NewFakeControllerSource()
	apps.Add(parent())
	apps.Add(ofChild("dns"))
	set := childSet("3")
	set.Annotations[argocd.AfterAnnotation] = "lone"
	sets.Add(set)
	c, told := cacheOf(t, apps, sets)
	g.Eventually(func() int { return len(c.Lenders(platformUID)) }).Should(Equal(1))
	for len(told) > 0 {
		<-told
	}
	apps.Add(watched("lone", ""))
	g.Eventually(told).Should(Receive(Equal(platform)))
	for len(told) > 0 {
		<-told
	}
	c.projectChanged(&projectProjection{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	g.Expect(told).To(Receive())
	g.Expect(told).To(Receive(Equal(platform)))
}

// server is what an API server has: the Applications, and an ApplicationSet.
type server struct {
	Live
	apps              []*argocd.Projection
	set               *argo.ApplicationSet
	fails             error
	lists, gets, sets atomic.Int64 // reads go side by side
}

func (s *server) Versions(context.Context, string, labels.Selector) (all []Version, err error) {
	s.lists.Add(1)
	for _, p := range s.apps {
		all = append(all, Version{
			Name: p.Name, UID: p.UID, Owner: p.Owner, Set: p.Set, ResourceVersion: p.ResourceVersion,
			Labels: p.Application.Labels,
		})
	}
	return all, nil
}

func (s *server) Application(_ context.Context, name types.NamespacedName) (*argocd.Projection, error) {
	s.gets.Add(1)
	for _, p := range s.apps {
		if p.Name == name.Name {
			return p, nil
		}
	}
	return nil, nil
}

func (s *server) ApplicationSet(context.Context, types.NamespacedName) (*argocd.ApplicationSet, error) {
	s.sets.Add(1)
	if s.set == nil || s.fails != nil {
		return nil, s.fails
	}
	return argocd.NewApplicationSet(s.set), nil
}

// lendingWatch is a watch that is where it has to be, and knows what a Cache knows.
type lendingWatch struct {
	arriving
	*Cache
}

func (w lendingWatch) Newest() string { return w.arriving.Newest() }

func (w lendingWatch) Reached(ctx context.Context, version string) error {
	return w.arriving.Reached(ctx, version)
}

func (w lendingWatch) Lending(namespace string, order types.UID) []types.NamespacedName {
	return w.Cache.Lending(namespace, order)
}

// TestTheApplicationsOfAChildAreReadLive by both ways: a LIST, and a barrier in a large namespace. What the watch of
// ApplicationSets says is not trusted.
func TestTheApplicationsOfAChildAreReadLive(t *testing.T) {
	unordered := func(set *argo.ApplicationSet) *argo.ApplicationSet {
		delete(set.Annotations, common.AnnotationKeyAppInstance)
		return set
	}
	another := func(set *argo.ApplicationSet) *argo.ApplicationSet {
		set.UID = "u9"
		return set
	}
	for name, row := range map[string]struct {
		known, live *argo.ApplicationSet
		fails       error
		outdated    bool // the known Applications are
		others      bool // there are none of the ApplicationSet
		want        string
		wantSets    int
	}{
		"it is known":               {known: childSet("3"), live: childSet("3"), want: "dns=3 mesh=3", wantSets: 1},
		"it is not known yet":       {live: childSet("3"), want: "dns=3 mesh=3", wantSets: 1},
		"it is in another wave now": {known: childSet("3"), live: childSet("-7"), want: "dns=-7 mesh=-7", wantSets: 1},
		"it gives an order now":     {known: childSet("3"), live: rolling(childSet("3")), wantSets: 1},
		"it has no parent any more": {known: childSet("3"), live: unordered(childSet("3")), wantSets: 1},
		"it is gone":                {known: childSet("3"), wantSets: 1},
		"it was never there":        {wantSets: 1},
		"another one has its name":  {known: childSet("3"), live: another(childSet("3")), wantSets: 1},
		"it was created again":      {known: another(childSet("3")), live: childSet("3"), want: "dns=3 mesh=3", wantSets: 1},
		"one that gives an order was created again": {
			known: another(rolling(childSet("3"))), live: childSet("3"), want: "dns=3 mesh=3", wantSets: 1,
		},
		"it cannot be read":                   {known: childSet("3"), live: childSet("3"), fails: errors.New("timeout"), wantSets: 1},
		"it is not known, and cannot be read": {live: childSet("3"), fails: errors.New("timeout"), wantSets: 1},
		"it gives an order: nothing is read":  {known: rolling(childSet("3")), live: rolling(childSet("3"))},
		"it has no parent: nothing is read":   {known: unordered(childSet("3")), live: unordered(childSet("3"))},
		"nobody controls any":                 {others: true},
		"its Applications have changed":       {known: childSet("3"), live: childSet("3"), outdated: true, want: "dns=3 mesh=3", wantSets: 1},
	} {
		for _, large := range []bool{false, true} {
			if large && row.outdated {
				continue // a barrier proves that they have not
			}
			t.Run(fmt.Sprint(name, ", in a large namespace: ", large), func(t *testing.T) {
				g := NewWithT(t)
				s, live := &source{FakeControllerSource: fakewatch.NewFakeControllerSource()}, &server{}
				sets := fakewatch.NewFakeControllerSource()
				all := []*argo.Application{parent(), ofChild("dns"), ofChild("mesh"), watched("lone", "")}
				if row.others {
					all = []*argo.Application{parent(), watched("lone", "")}
				}
				for i := range ShortList {
					if large {
						all = append(all, watched(fmt.Sprint("other-", i), ""))
					}
				}
				forged := ofChild("forged")
				forged.Namespace = "other"
				s.add(forged)
				for _, app := range all {
					s.add(app)
				}
				if row.known != nil {
					sets.Add(row.known)
				}
				c := NewCache(Source{s, sets})
				go c.Run(t.Context())
				g.Eventually(c.Synced).Should(BeTrue())
				g.Eventually(c.Newest).Should(Equal(s.at()))
				live.set, live.fails = row.live, row.fails
				for _, app := range all {
					p := c.Application(types.NamespacedName{Namespace: "argocd", Name: app.Name})
					if row.outdated {
						changed := *p
						changed.ResourceVersion = "1000"
						p = &changed
					}
					live.apps = append(live.apps, p)
				}
				order, _ := c.Set(platform)
				set := &order.ApplicationSet
				written := fmt.Sprint(s.version + 1)
				b, _ := newBarrier(&barrierObject{versions: []string{written, fmt.Sprint(s.version + 2)}}, lendingWatch{
					arriving{s.at(), map[string]time.Duration{written: 0, fmt.Sprint(s.version + 2): 0}}, c,
				})
				r := NewReader(live, c).WithBarrier(b, c.Count)

				current, err := r.Current(t.Context(), set, policy.WaveStep(99), nil)
				g.Expect(int(live.sets.Load())).To(Equal(row.wantSets))
				gets := live.gets.Load()
				members, err2 := r.Members(t.Context(), set)
				if row.fails != nil {
					g.Expect(err).To(MatchError(row.fails))
					g.Expect(err2).To(MatchError(row.fails))
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(err2).NotTo(HaveOccurred())
				g.Expect(inWaves(current)).To(Equal(row.want))
				g.Expect(inWaves(c.InSteps(set, members))).To(Equal(row.want))
				if large {
					g.Expect(live.lists.Load()).To(BeZero())
				}
				if !row.outdated {
					g.Expect(gets).To(BeZero(), "what is known is current")
				}
				for _, p := range members {
					g.Expect(p.Namespace).To(Equal("argocd"), "an owner reference means nothing elsewhere")
				}
				dns, err := r.Application(t.Context(), set, "dns")
				g.Expect(err).NotTo(HaveOccurred())
				if row.want == "" {
					g.Expect(dns).To(BeNil())
				} else {
					g.Expect(row.want).To(HavePrefix(inWaves([]policy.Sibling{set.Sibling(&dns.Application)})))
				}
				lone, err := r.Application(t.Context(), set, "lone")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(lone).To(BeNil())
			})
		}
	}
}

// TestTheChildrenThatAreApplicationSetsAreReadWithTheOrder, live for a decision and as watched for others; a failed read is
// no answer.
func TestTheChildrenThatAreApplicationSetsAreReadWithTheOrder(t *testing.T) {
	g := NewWithT(t)
	apps, sets := fakewatch.NewFakeControllerSource(), fakewatch.NewFakeControllerSource()
	deploys := parent()
	deploys.Status.Resources = []argo.ResourceStatus{{
		Group: "argoproj.io", Kind: "ApplicationSet", Namespace: "argocd", Name: "set", SyncWave: 3,
	}}
	apps.Add(deploys)
	apps.Add(watched("lone", ""))
	shop := watched("shop", "")
	shop.Annotations[argocd.AfterAnnotation] = "platform"
	apps.Add(shop)
	c, told := cacheOf(t, apps, sets)
	known := func() (details []string) {
		order, _ := c.Set(platform)
		for name, lacking := range order.Sets {
			details = append(details, name+" "+lacking.Detail)
		}
		return details
	}
	g.Expect(known()).To(ConsistOf("applicationset:set "))
	g.Expect(c.Sets()).To(ConsistOf(HaveField("Sets", HaveLen(1))))

	live := &orderAndSet{order: argocd.NewProjection(deploys).Waves}
	read, err := NewReader(live, c).ApplicationSet(t.Context(), platform)
	g.Expect(err).NotTo(HaveOccurred())
	watched, _ := c.Set(platform)
	g.Expect(read).To(Equal(watched))

	for len(told) > 0 {
		<-told
	}
	done := childSet("3")
	done.Status.Conditions = []argo.ApplicationSetCondition{{
		Type: argo.ApplicationSetConditionResourcesUpToDate, Status: argo.ApplicationSetConditionStatusTrue,
	}}
	sets.Add(rolling(done))
	g.Eventually(told).Should(Receive(Equal(platform)), "also of one that gives an order of its own")
	g.Eventually(told).Should(Receive(Equal(argocd.AloneKey("argocd", "shop"))), "it comes after the parent")
	g.Expect(known()).To(BeEmpty())
	for len(told) > 0 {
		<-told
	}
	apps.Add(ofParent("web"))
	g.Eventually(told).Should(Receive(Equal(argocd.AloneKey("argocd", "shop"))), "a child has appeared")
	g.Expect(live.order.Sets).To(BeNil(), "what was made does not change")
	live.set = argocd.NewApplicationSet(done)
	read, err = NewReader(live, c).ApplicationSet(t.Context(), platform)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Sets).To(BeEmpty())

	live.fails = errors.New("timeout")
	_, err = NewReader(live, c).ApplicationSet(t.Context(), platform)
	g.Expect(err).To(MatchError(live.fails))
}

// orderAndSet is what an API server has: a parent's order, and an ApplicationSet. That read may fail.
type orderAndSet struct {
	Live
	order, set *argocd.ApplicationSet
	fails      error
}

func (l *orderAndSet) ApplicationSet(_ context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	if name == platform {
		return l.order, nil
	}
	return l.set, l.fails
}

// TestALaterWaveOfAChildIsNotRead: the wave is that of the ApplicationSet, also of an Application that is not known.
func TestALaterWaveOfAChildIsNotRead(t *testing.T) {
	g := NewWithT(t)
	apps, sets := fakewatch.NewFakeControllerSource(), fakewatch.NewFakeControllerSource()
	apps.Add(parent())
	sets.Add(childSet("3"))
	c, _ := cacheOf(t, apps, sets)
	live := &server{apps: []*argocd.Projection{argocd.NewProjection(ofChild("dns"))}, set: childSet("3")}
	order, _ := c.Set(platform)
	for step, want := range map[int]int{3: 0, 4: 1} {
		live.gets.Store(0)
		current, err := NewReader(live, c).Current(t.Context(), &order.ApplicationSet, policy.WaveStep(step), nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(inWaves(current)).To(Equal("dns=3"))
		g.Expect(int(live.gets.Load())).To(Equal(want), "its own wave would have it read")
	}
}

// TestAnApplicationMovesBetweenOwners has it be a child itself, one of a child, and one of nobody.
func TestAnApplicationMovesBetweenOwners(t *testing.T) {
	g := NewWithT(t)
	apps, sets := fakewatch.NewFakeControllerSource(), fakewatch.NewFakeControllerSource()
	own := watched("dns", "")
	own.Annotations[common.AnnotationKeyAppInstance] = "platform:argoproj.io/Application:argocd/dns"
	own.Annotations[synccommon.AnnotationSyncWave] = "8"
	apps.Add(parent())
	apps.Add(own)
	sets.Add(childSet("3"))
	c, told := cacheOf(t, apps, sets)
	order, _ := c.Set(platform)
	members := func() string { return inWaves(c.Siblings(&order.ApplicationSet)) }
	owned := func() int { return len(c.Owned(platformUID)) }
	g.Eventually(func() int { return len(c.Lenders(platformUID)) }).Should(Equal(1))
	g.Eventually(members).Should(Equal("dns=8"))
	for range 2 {
		apps.Modify(ofChild("dns"))
		g.Eventually(members).Should(Equal("dns=3"))
		g.Expect(owned()).To(Equal(1))
		apps.Modify(own)
		g.Eventually(members).Should(Equal("dns=8"))
		g.Expect(owned()).To(Equal(1))
	}
	apps.Modify(ofChild("dns"))
	g.Eventually(members).Should(Equal("dns=3"))
	for len(told) > 0 {
		<-told
	}
	apps.Modify(watched("dns", "u2"))
	g.Eventually(told).Should(Receive(Equal(platform)), "it was one of its members")
	g.Eventually(members).Should(BeEmpty())
	g.Expect(owned()).To(BeZero())
}

// TestWhatAnotherReplicaHasKeptOfAChild is what is known of its Applications as members, too.
func TestWhatAnotherReplicaHasKeptOfAChild(t *testing.T) {
	g := NewWithT(t)
	s := NewHistories(clock.RealClock{})
	p := argocd.NewProjection(ofChild("dns"))
	s.Lend(argocd.NewApplicationSet(childSet("3")), true)
	s.Listed(p)
	before := s.lent[p.UID]
	s.Follow(p, &history.Kept{})
	g.Expect(s.lent[p.UID]).NotTo(BeIdenticalTo(before))
	family := s.families[Owner{"argocd", platformUID}]
	g.Expect(family.members).To(HaveLen(1))
	g.Expect(family.members[0]).To(BeIdenticalTo(s.lent[p.UID]))
	g.Expect(family.members[0].Record).To(BeIdenticalTo(s.apps[p.UID].Record))
	g.Expect(s.Kept(Owner{"argocd", platformUID})).To(HaveLen(1))
}
