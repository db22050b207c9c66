// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/slots"
)

// idle are Applications of which no operation is stored yet.
type idle struct{}

func (idle) Known(*policy.ApplicationSet) []policy.Sibling { return nil }

func (idle) Application(_ context.Context, _ *policy.ApplicationSet, name string) (*argocd.Projection, error) {
	return &argocd.Projection{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Application: policy.Application{
			Name: name, Health: "Healthy", SyncStatus: "OutOfSync",
		},
	}, nil
}

func (idle) Current(context.Context, *policy.ApplicationSet, int, *argocd.Projection) ([]policy.Sibling, error) {
	return nil, nil
}

// TestSlotsOfThreeReplicas has three replicas claim slots at once, on ConfigMaps of the real API server.
func TestSlotsOfThreeReplicas(t *testing.T) {
	g := NewWithT(t)
	config := rest.CopyConfig(shared.Config)
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	const most, rounds, applications = 4, 10, 30
	for round := range rounds {
		limit := intstr.FromInt32(most)
		set := &argocd.ApplicationSet{
			ApplicationSet: policy.ApplicationSet{
				Namespace: "argocd", Name: "slots", UID: fmt.Sprintf("round-%d", round), Steps: []policy.Step{{}},
			},
			MaxUpdate: map[int]*intstr.IntOrString{0: &limit},
		}
		objects := slots.ConfigMaps{Client: clients.CoreV1().ConfigMaps("default")}
		var stores []*slots.Store
		for range 3 {
			stores = append(stores, slots.NewStore(objects, idle{}, clock.RealClock{}))
		}
		var running sync.WaitGroup
		taken := make([]bool, applications)
		errs := make([]error, applications)
		for i := range applications {
			running.Go(func() {
				name := fmt.Sprintf("app-%d", i)
				full, err := stores[i%3].Take(t.Context(), slots.Claim{
					Set: set, Application: name, UID: types.UID(name), Version: "1",
				})
				taken[i], errs[i] = err == nil && full == nil, err
			})
		}
		running.Wait()
		got := 0
		for i := range applications {
			g.Expect(errs[i]).NotTo(HaveOccurred())
			if taken[i] {
				got++
			}
		}
		g.Expect(got).To(Equal(most), "round %d", round)
	}
	kept, err := slots.ConfigMaps{Client: clients.CoreV1().ConfigMaps("default")}.Kept(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveLen(rounds))
	for uid := range kept {
		g.Expect(slots.ConfigMaps{Client: clients.CoreV1().ConfigMaps("default")}.Remove(t.Context(), uid)).To(Succeed())
	}
}

// TestAStrangerKeepsNoSlot asks past the API server, again and again, about syncs that nobody writes. dev still gets the
// only slot of step 1: at once if the Application is made up, and else within 10 s of the last request.
func TestAStrangerKeepsNoSlot(t *testing.T) {
	t.Parallel()
	r := newRolloutWith(t, installed.Options{KeepsMaxUpdate: true})
	before, one := r.Set.DeepCopy(), intstr.FromInt32(1)
	r.Set.Spec.Strategy.RollingSync.Steps[0].MaxUpdate = &one
	r.Expect(shared.Admin.Patch(r.ctx, r.Set, client.MergeFrom(before))).To(Succeed())
	compare := func(app *argo.Application) {
		guestbook.Compare(app, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
	}
	r.Expect(r.update(cluster.ControllerAccount, "dev", compare)).To(Succeed())
	other := guestbook.Application(r.Set, "dev")
	other.Name = "engineering-dev-other"
	compare(other)
	r.Expect(shared.Admin.Create(r.ctx, other)).To(Succeed())
	asks := func(app *argo.Application, created bool) {
		was := app.DeepCopy()
		if app.Operation = guestbook.Pinned(guestbook.RollingSync(), app); created {
			was = nil
		}
		r.Expect(r.call(was, app, "").Allowed).To(BeTrue())
	}
	ends := func(env string) {
		r.Expect(r.update("", env, func(app *argo.Application) { app.Operation = nil })).To(Succeed())
	}
	for what, change := range map[string]func(a *argo.Application){
		"there is no Application of that name": func(a *argo.Application) { a.Name = "made-up" },
		"it has another UID":                   func(a *argo.Application) { a.UID = "made-up" },
		"it has another version":               func(a *argo.Application) { a.ResourceVersion = "1" },
	} {
		for _, created := range []bool{false, true} {
			made := other.DeepCopy()
			change(made)
			asks(made, created)
			r.Expect(r.sync(cluster.Human, "dev")).To(Succeed(), "%s, created: %t", what, created)
			ends("dev")
		}
	}
	asks(other.DeepCopy(), false)
	asked := time.Now()
	r.Expect(r.sync(cluster.Human, "dev")).To(MatchError(ContainSubstring("engineering-dev-other (MaxUpdateReached")))
	r.Eventually(func() error { return r.sync(cluster.Human, "dev") }).Should(Succeed())
	r.Expect(time.Since(asked)).To(BeNumerically("<", 15*time.Second))
}
