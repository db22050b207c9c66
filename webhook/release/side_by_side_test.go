// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/record"
)

// withOthers adds ApplicationSets like guestbook, in which another prod may start.
func withOthers(c *scenario.Cluster, sets ...string) *scenario.Cluster {
	for _, name := range sets {
		set := c.Sets[0].DeepCopy()
		set.Name, set.UID = name, types.UID(name+"-uid")
		set.Status.ApplicationStatus = nil
		for _, app := range c.Apps[:3] {
			app = app.DeepCopy()
			app.Name, app.UID = name+"-"+app.Name, types.UID(name+"-"+app.Name+"-uid")
			app.OwnerReferences = []metav1.OwnerReference{scenario.OwnedBy(name)}
			c.Apps = append(c.Apps, app)
		}
		set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
			{Application: name + "-prod", Step: "3", Status: "Pending"},
		}
		c.Sets = append(c.Sets, set)
	}
	return c
}

func nameOfSet(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: name}
}

// TestNoApplicationSetWaitsForAnother has the looks at some of them take for ever.
func TestNoApplicationSetWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
		scenario.Pending(c, "prod")
		large := []string{"large-1", "large-2", "large-3"}
		known, refreshes := scenario.Watched{Cluster: withOthers(c, large...)}, &scenario.Refreshes{}
		j := judge.New(scenario.Releasing(), judge.Dependencies{
			Live: c, Histories: &scenario.Watch{}, Clock: clock.RealClock{},
		})
		r := New(j, known, record.NewWaiting(known, clock.RealClock{}),
			NewRequests(refreshes, known, clock.RealClock{}), func(time.Duration) time.Duration { return 0 })
		end := make(chan struct{})
		r.weigh = func(in policy.Input, open policy.Decision) policy.Decision {
			if strings.HasPrefix(in.ApplicationSet.Name, "large") {
				<-end
			}
			return policy.Weigh(in, open)
		}
		ctx, cancel := context.WithCancel(t.Context())
		controller, done := NewController(r.Reconcile), make(chan struct{})
		go func() { controller.Run(ctx); close(done) }()
		for _, name := range large {
			controller.Changed(nameOfSet(name))
		}
		<-time.After(10 * time.Second)
		controller.Changed(guestbook)
		<-time.After(2*settle + time.Millisecond)
		synctest.Wait()
		g.Expect(refreshes.Take()).To(HaveLen(1))
		close(end)
		<-time.After(2*settle + time.Millisecond)
		synctest.Wait()
		g.Expect(refreshes.Take()).To(HaveLen(len(large)), "when their looks have ended")
		cancel()
		<-done
	})
}

// TestLooksSideBySide looks at many ApplicationSets at once, while the watches go on: -race finds what they share.
func TestLooksSideBySide(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(c, "prod")
	var sets []string
	for i := range 8 {
		sets = append(sets, "set-"+strconv.Itoa(i))
	}
	known, clock := scenario.Watched{Cluster: withOthers(c, sets...)}, clocktesting.NewFakeClock(scenario.Noon)
	seen, refreshes := cluster.NewHistories(clock), &scenario.Refreshes{}
	for _, set := range known.Sets() {
		seen.KeepSteps(&set.ApplicationSet)
	}
	j := judge.New(scenario.Releasing(), judge.Dependencies{Live: c, Histories: seen, Clock: clock})
	waiting := record.NewWaiting(known, clock)
	r := New(j, known, waiting, NewRequests(refreshes, known, clock), func(time.Duration) time.Duration { return 0 })
	var running sync.WaitGroup
	running.Go(func() {
		for range 20 {
			for _, app := range c.Apps {
				seen.Observe(argocd.NewProjection(app))
			}
		}
	})
	for _, name := range sets {
		running.Go(func() {
			for range 20 {
				r.Reconcile(nameOfSet(name))
			}
		})
	}
	running.Wait()
	clock.Step(policy.SettlingTime)
	for _, name := range sets {
		r.Reconcile(nameOfSet(name))
		r.Reconcile(nameOfSet(name))
	}
	g.Expect(refreshes.Take()).To(HaveLen(len(sets)))
}
