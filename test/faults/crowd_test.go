// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
)

// crowd are ApplicationSets whose Applications of the third step wait for one of the first.
type crowd struct {
	*trial
	namespace string
	sets      []*crowdSet
	// controller and applicationSet write as Argo CD's accounts.
	controller, applicationSet client.Client
	// held is how often an operation was held, started is how many Applications have started their sync.
	held, started atomic.Int64
}

// crowdSet is one ApplicationSet of a crowd.
type crowdSet struct {
	*argo.ApplicationSet
	dev   *argo.Application
	prods map[string]*argo.Application
}

// newCrowd creates the ApplicationSets, with an Application of the first step and so many of the third each. The first
// step is Degraded, and the ApplicationSet controller has recorded the others as Pending.
func (f *trial) newCrowd(namespace string, sets, each int) *crowd {
	f.Helper()
	c := &crowd{trial: f, namespace: namespace}
	var err error
	c.controller, err = f.Client(cluster.ControllerAccount)
	f.Expect(err).NotTo(HaveOccurred())
	c.applicationSet, err = f.Client(cluster.ApplicationSetAccount)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.CreateNamespace(f.ctx, namespace)).To(Succeed())
	for i := range sets {
		set := guestbook.Set(namespace)
		set.Name = fmt.Sprintf("set-%02d", i)
		c.sets = append(c.sets, &crowdSet{ApplicationSet: set, prods: map[string]*argo.Application{}})
	}
	f.Expect(c.each(func(s *crowdSet) error { return c.create(s, each) })).To(Succeed())
	return c
}

// each does something for each ApplicationSet, some at once.
func (c *crowd) each(do func(*crowdSet) error) error {
	var group errgroup.Group
	group.SetLimit(10)
	for _, s := range c.sets {
		group.Go(func() error { return do(s) })
	}
	return group.Wait()
}

// waiting is how many Applications wait.
func (c *crowd) waiting() int {
	n := 0
	for _, s := range c.sets {
		n += len(s.prods)
	}
	return n
}

func (c *crowd) create(s *crowdSet, each int) error {
	if err := c.Admin.Create(c.ctx, s.ApplicationSet); err != nil {
		return err
	}
	compared := time.Now().Add(-time.Minute)
	s.dev = guestbook.Application(s.ApplicationSet, "dev")
	s.dev.Name = s.Name + "-dev"
	guestbook.Compare(s.dev, compared, guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusDegraded)
	if err := c.Admin.Create(c.ctx, s.dev); err != nil {
		return err
	}
	for i := range each {
		app := guestbook.Application(s.ApplicationSet, "prod")
		app.Name = fmt.Sprintf("%s-prod-%02d", s.Name, i)
		guestbook.Compare(app, compared, guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
		if err := c.Admin.Create(c.ctx, app); err != nil {
			return err
		}
		s.prods[app.Name] = app
	}
	return c.record(s, nil)
}

// record writes the status of an ApplicationSet: Healthy are the first step and what has synced, the others are
// Pending.
func (c *crowd) record(s *crowdSet, synced map[string]bool) error {
	now := metav1.Now()
	entry := func(app, step string, status argo.ProgressiveSyncStatusCode) argo.ApplicationSetApplicationStatus {
		return argo.ApplicationSetApplicationStatus{
			Application: app, Step: step, Status: status, LastTransitionTime: &now, TargetRevisions: []string{guestbook.NewCommit},
		}
	}
	s.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
		entry(s.dev.Name, "1", argo.ProgressiveSyncHealthy),
	}
	for name := range s.prods {
		status := argo.ProgressiveSyncPending
		if synced[name] {
			status = argo.ProgressiveSyncHealthy
		}
		s.Status.ApplicationStatus = append(s.Status.ApplicationStatus, entry(name, "3", status))
	}
	return c.Admin.Status().Update(c.ctx, s.ApplicationSet)
}

// syncAll lets the ApplicationSet controller start the sync of every Application that waits.
func (c *crowd) syncAll() {
	c.Helper()
	c.Expect(c.each(func(s *crowdSet) error {
		for _, app := range s.prods {
			if _, err := c.sync(app); err != nil {
				return err
			}
		}
		return nil
	})).To(Succeed())
}

// sync writes the operation of an Application, and reports whether it is stored.
func (c *crowd) sync(app *argo.Application) (started bool, err error) {
	stored, err := c.patch(c.applicationSet, app, map[string]any{"operation": guestbook.RollingSync()})
	if err == nil && stored.Operation == nil {
		c.held.Add(1)
	}
	return err == nil && stored.Operation != nil, err
}

func (c *crowd) patch(as client.Client, app *argo.Application, fields map[string]any) (*argo.Application, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	stored := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	return stored, as.Patch(c.ctx, stored, client.RawPatch(types.MergePatchType, text))
}

// open repairs the first step of every ApplicationSet.
func (c *crowd) open() {
	c.Helper()
	c.Expect(c.each(func(s *crowdSet) error {
		guestbook.Compare(s.dev, time.Now(), guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
		_, err := c.patch(c.controller, s.dev, map[string]any{"status": s.dev.Status})
		return err
	})).To(Succeed())
}

// playArgoCD compares every Application of which a refresh is requested, starts its sync again and completes it, until
// stop.
func (c *crowd) playArgoCD() (stop func()) {
	c.Helper()
	watched, err := cache.New(c.Config, cache.Options{
		Scheme: c.Admin.Scheme(), DefaultNamespaces: map[string]cache.Config{c.namespace: {}},
	})
	c.Expect(err).NotTo(HaveOccurred())
	informer, err := watched.GetInformer(c.ctx, &argo.Application{}, cache.BlockUntilSynced(false))
	c.Expect(err).NotTo(HaveOccurred())
	refreshed := map[types.UID]chan string{}
	var players errgroup.Group
	for _, s := range c.sets {
		requests := make(chan string, 10*len(s.prods))
		refreshed[s.UID] = requests
		players.Go(func() error { return c.play(s, requests) })
	}
	notice := func(object any) {
		app, _ := object.(*argo.Application)
		if _, refresh := app.IsRefreshRequested(); refresh {
			refreshed[app.OwnerReferences[0].UID] <- app.Name
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: notice,
		UpdateFunc: func(_, object any) {
			notice(object)
		}})
	c.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(c.ctx)
	var watch errgroup.Group
	watch.Go(func() error { return watched.Start(ctx) })
	c.Expect(watched.WaitForCacheSync(ctx)).To(BeTrue())
	stop = sync.OnceFunc(func() {
		cancel()
		c.Expect(watch.Wait()).To(Succeed())
		for _, requests := range refreshed {
			close(requests)
		}
		c.Expect(players.Wait()).To(Succeed())
	})
	c.Cleanup(stop)
	return stop
}

// play plays Argo CD for the Applications of one ApplicationSet of which a refresh is requested.
func (c *crowd) play(s *crowdSet, requests <-chan string) error {
	synced := map[string]bool{}
	for name := range requests {
		app := s.prods[name]
		if app == nil {
			app = s.dev
		}
		reconciled := map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{argo.AnnotationKeyRefresh: nil}}, "status": map[string]any{"reconciledAt": metav1.Now()},
		}
		if _, err := c.patch(c.controller, app, reconciled); err != nil {
			return err
		}
		if synced[name] || app == s.dev {
			continue
		}
		started, err := c.sync(app)
		if err != nil {
			return err
		}
		if !started {
			continue
		}
		synced[name] = true
		c.started.Add(1)
		if err := c.complete(s, app, synced); err != nil {
			return err
		}
	}
	return nil
}

// complete ends a sync, as both controllers record it.
func (c *crowd) complete(s *crowdSet, app *argo.Application, synced map[string]bool) error {
	app.Operation = guestbook.RollingSync()
	guestbook.Start(app, time.Now())
	guestbook.Finish(app, time.Now(), guestbook.NewCommit)
	guestbook.Compare(app, time.Now(), guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
	if _, err := c.patch(c.controller, app, map[string]any{"operation": nil, "status": app.Status}); err != nil {
		return err
	}
	return c.record(s, synced)
}
