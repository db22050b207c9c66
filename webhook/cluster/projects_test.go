// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	fakewatch "k8s.io/client-go/tools/cache/testing"
)

// project is an AppProject with a sync window for every schedule.
func project(name string, schedules ...string) *argo.AppProject {
	p := &argo.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name}}
	for _, s := range schedules {
		p.Spec.SyncWindows = append(p.Spec.SyncWindows, &argo.SyncWindow{Kind: "deny", Schedule: s, Duration: "1h"})
	}
	return p
}

// changes are the ApplicationSets that a Cache tells of.
type changes struct {
	mu  sync.Mutex
	all []string
}

func (c *changes) add(set types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, set.String())
}

func (c *changes) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// expect waits until a Cache has told of these, and of nothing else since the last time.
func (c *changes) expect(g *WithT, why string, want ...string) {
	g.Eventually(c.seen).Should(ConsistOf(want), why)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = nil
}

// of makes an Application of a project and an ApplicationSet.
func of(project, set, name string) *argo.Application {
	app := watched(name, types.UID("uid-"+set))
	app.Spec.Project = project
	app.OwnerReferences[0].Name = set
	return app
}

func TestTheCacheKnowsTheWindowsOfProjects(t *testing.T) {
	g := NewWithT(t)
	apps, source := fakewatch.NewFakeControllerSource(), fakewatch.NewFakeControllerSource()
	for _, app := range []*argo.Application{of("shop", "one", "a"), of("shop", "one", "b"), of("blog", "two", "c"),
		of("shop", "three", "d"), of("", "four", "e")} {
		apps.Add(app)
	}
	alone := watched("alone", "")
	alone.Spec.Project = "shop"
	apps.Add(alone)
	source.Add(project("shop", "0 8 * * *"))
	source.Add(project("blog"))
	c := NewCache(Source{apps, fakewatch.NewFakeControllerSource()})
	late := &gatedSource{FakeControllerSource: source, open: make(chan struct{})}
	c.WatchProjects(late)
	told := &changes{}
	c.OnChange(told.add)
	_, known := c.Windows("shop")
	g.Expect(known).To(BeFalse(), "nothing is listed")
	go c.Run(t.Context())
	g.Eventually(func() bool {
		return c.controllers[0].HasSynced() && c.controllers[1].HasSynced()
	}).Should(BeTrue())
	g.Expect(c.Synced()).To(BeFalse(), "the projects are not listed")
	told.expect(g, "at first", "argocd/one", "argocd/one", "argocd/two", "argocd/three", "argocd/four")

	close(late.open)
	g.Eventually(c.Synced).Should(BeTrue())
	windows, known := c.Windows("shop")
	g.Expect(known).To(BeTrue())
	g.Expect(windows).To(Equal(project("shop", "0 8 * * *").Spec.SyncWindows))
	windows, known = c.Windows("blog")
	g.Expect(known).To(BeTrue())
	g.Expect(windows).To(BeEmpty())
	_, known = c.Windows("other")
	g.Expect(known).To(BeFalse())
	told.expect(g, "each once", "argocd/one", "argocd/three")

	source.Modify(project("blog", "0 9 * * *"))
	told.expect(g, "changed", "argocd/two")
	other := project("blog", "0 9 * * *")
	other.Spec.Description, other.Spec.SyncWindows[0].Description = "changed", "changed"
	source.Modify(other) // the changes of one watch come in order: it would be told before the next one
	source.Add(project("default", "0 9 * * *"))
	told.expect(g, "a description decides nothing, and no project is the default one", "argocd/four")
	source.Delete(project("shop", "0 8 * * *"))
	told.expect(g, "changed", "argocd/one", "argocd/three")
	_, known = c.Windows("shop")
	g.Expect(known).To(BeFalse())
	source.Modify(project("blog"))
	told.expect(g, "changed", "argocd/two")
}

func TestWithoutProjectsNoneIsKnown(t *testing.T) {
	_, known := NewCache().Windows("default")
	NewWithT(t).Expect(known).To(BeFalse())
}

// permits lists and watches AppProjects while err is nil.
type permits struct {
	*fakewatch.FakeControllerSource
	mu    sync.Mutex
	err   error
	asked int
}

// run runs a Cache, and returns how to end it and the source.
func (p *permits) run(ctx context.Context, c *Cache, end func()) func() {
	ended := make(chan struct{})
	go func() { c.Run(ctx); close(ended) }()
	return func() {
		end()
		<-ended
		p.Shutdown()
	}
}

func (p *permits) set(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// List fails with the error that is set.
func (p *permits) List(options metav1.ListOptions) (runtime.Object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked++; p.err != nil {
		return nil, p.err
	}
	return p.FakeControllerSource.List(options)
}

// Watch fails with the error that is set.
func (p *permits) Watch(options metav1.ListOptions) (watch.Interface, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked++; p.err != nil {
		return nil, p.err
	}
	return p.FakeControllerSource.Watch(options)
}

// TestProjectsThatMayNotBeWatchedHoldNothingUp counts the log lines over an hour of the bubble's time.
func TestProjectsThatMayNotBeWatchedHoldNothingUp(t *testing.T) {
	resource := argo.SchemeGroupVersion.WithResource("appprojects").GroupResource()
	for it, err := range map[string]error{
		"without the permission": apierrors.NewForbidden(resource, "", errors.New("no role")),
		"without the CRD":        apierrors.NewNotFound(resource, ""),
	} {
		t.Run(it, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				var lines []string
				ctx, end := context.WithCancel(logr.NewContext(t.Context(), funcr.New(func(_, args string) {
					lines = append(lines, args)
				}, funcr.Options{})))
				source := &permits{FakeControllerSource: fakewatch.NewFakeControllerSource(), err: err}
				source.Add(project("shop", "0 8 * * *"))
				c := NewCache()
				c.WatchProjects(source)
				g.Expect(c.Synced()).To(BeFalse())
				defer source.run(ctx, c, end)()
				<-time.After(time.Hour)
				synctest.Wait()
				g.Expect(c.Synced()).To(BeTrue())
				_, known := c.Windows("shop")
				g.Expect(known).To(BeFalse())
				g.Expect(lines).To(ConsistOf(ContainSubstring("AppProjects cannot be watched")))
				g.Expect(source.asked).To(BeNumerically("~", 60, 1))

				source.set(nil)
				<-time.After(2 * time.Minute)
				synctest.Wait()
				_, known = c.Windows("shop")
				g.Expect(known).To(BeTrue())
				g.Expect(lines).To(HaveLen(2))
			})
		})
	}
}

// A failure of another kind is one that the informer knows: it says so, and tries again.
func TestAListOfProjectsThatFailsIsNoLackOfPermission(t *testing.T) {
	g := NewWithT(t)
	source := &permits{
		FakeControllerSource: fakewatch.NewFakeControllerSource(), err: errors.New("the API server does not answer"),
	}
	p := &permission{ListerWatcherWithContext: cache.ToListerWatcherWithContext(source)}
	_, err := p.ListWithContext(t.Context(), metav1.ListOptions{})
	g.Expect(err).To(MatchError("the API server does not answer"))
	g.Expect(p.lacked.Load()).To(BeFalse())
}

// Who loses the permission later keeps no windows that may be of yesterday.
func TestAPermissionThatIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		source := &permits{FakeControllerSource: fakewatch.NewFakeControllerSource()}
		source.Add(project("shop", "0 8 * * *"))
		c := NewCache()
		c.WatchProjects(source)
		ctx, end := context.WithCancel(t.Context())
		defer source.run(ctx, c, end)()
		<-time.After(time.Minute)
		_, known := c.Windows("shop")
		g.Expect(known).To(BeTrue())

		source.set(apierrors.NewForbidden(argo.SchemeGroupVersion.WithResource("appprojects").GroupResource(), "",
			errors.New("no role")))
		source.ResetWatch()
		<-time.After(time.Minute)
		_, known = c.Windows("shop")
		g.Expect(known).To(BeFalse())
		g.Expect(c.Synced()).To(BeTrue())
	})
}
