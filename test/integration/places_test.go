package integration

import (
	"context"
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/places"
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

// TestPlacesOfThreeReplicas has three replicas claim places at once, on ConfigMaps of the real API server.
func TestPlacesOfThreeReplicas(t *testing.T) {
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
				Namespace: "argocd", Name: "places", UID: fmt.Sprintf("round-%d", round), Steps: []policy.Step{{}},
			},
			MaxUpdate: []*intstr.IntOrString{&limit},
		}
		objects := places.ConfigMaps{Client: clients.CoreV1().ConfigMaps("default")}
		var stores []*places.Store
		for range 3 {
			stores = append(stores, places.NewStore(objects, idle{}, clock.RealClock{}))
		}
		var running sync.WaitGroup
		taken := make([]bool, applications)
		errs := make([]error, applications)
		for i := range applications {
			running.Go(func() {
				name := fmt.Sprintf("app-%d", i)
				full, err := stores[i%3].Take(t.Context(), places.Claim{
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
	kept, err := places.ConfigMaps{Client: clients.CoreV1().ConfigMaps("default")}.Kept(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveLen(rounds))
	for uid := range kept {
		g.Expect(places.ConfigMaps{Client: clients.CoreV1().ConfigMaps("default")}.Remove(t.Context(), uid)).To(Succeed())
	}
}
