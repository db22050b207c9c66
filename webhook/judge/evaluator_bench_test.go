// SPDX-License-Identifier: Apache-2.0

package judge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	fakewatch "k8s.io/client-go/tools/cache/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
)

// BenchmarkEvaluate is what a decision costs stepgate itself: the cache is a real one, and reads take no time. The
// siblings are in three equal steps, the target in the last; for a denial the first is Degraded. Before each decision
// the processor's caches are overwritten, as they are in between where decisions are rare: that is most of the cost.
func BenchmarkEvaluate(b *testing.B) {
	for _, count := range []int{10, 1000, 5000} {
		for _, want := range []policy.Outcome{policy.Allow, policy.Deny} {
			b.Run(fmt.Sprintf("%s/siblings=%d", want, count), func(b *testing.B) { benchmarkEvaluate(b, count, want) })
		}
	}
}

func benchmarkEvaluate(b *testing.B, count int, want policy.Outcome) {
	g := NewWithT(b)
	set := guestbook.Set("argocd")
	set.UID = "u1"
	source := fakewatch.NewFakeControllerSource()
	live := &instant{applications: map[string]*argocd.Projection{}}
	for i := range count {
		env := []string{"dev", "qa", "prod"}[i*3/count]
		app, err := rolledOut(set, env, fmt.Sprintf("app-%05d", i))
		g.Expect(err).NotTo(HaveOccurred())
		if i == 0 && want == policy.Deny {
			app.Status.Health.Status = "Degraded"
		}
		source.Add(app)
		p := argocd.NewProjection(app)
		p.ResourceVersion = strconv.Itoa(i + 1) // as the source numbers them
		live.applications[app.Name] = p
		if env != "prod" {
			live.versions = append(live.versions, cluster.Version{
				Name: p.Name, UID: p.UID, Owner: p.Owner, ResourceVersion: p.ResourceVersion, Labels: app.Labels,
			})
		}
		set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: app.Name, Step: strconv.Itoa(i*3/count + 1),
		})
	}
	sets := fakewatch.NewFakeControllerSource()
	sets.Add(set)
	known := cluster.NewCache(cluster.Source{Applications: source, ApplicationSets: sets})
	go known.Run(b.Context())
	g.Eventually(known.Synced).WithTimeout(10 * time.Second).Should(BeTrue())
	g.Eventually(func() int { return len(known.Owned("u1")) }).WithTimeout(10 * time.Second).Should(Equal(count))
	projected, _ := known.Set(types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
	target := live.applications[fmt.Sprintf("app-%05d", count-1)].Application
	in := policy.Input{
		ApplicationSet: &projected.ApplicationSet,
		Target: policy.Target{SpecCompared: true,
			Name: target.Name, Labels: target.Labels, Managed: true, Operation: policy.Operation{Written: true},
			ReconciledAt: target.ReconciledAt, Compared: target.Compared, Ran: target.Ran, Wanted: target.Compared,
		},
	}
	evaluate := func(ctx context.Context, in policy.Input) (policy.Decision, error) {
		return decide(ctx, evaluator(live, known), in)
	}
	b.ReportAllocs()
	other := make([]byte, 96<<20)
	for b.Loop() {
		b.StopTimer()
		for i := 0; i < len(other); i += 64 {
			other[i]++
		}
		b.StartTimer()
		d, err := evaluate(b.Context(), in)
		if err != nil || d.Outcome != want || len(d.Blockers) > 1 || live.reread {
			b.Fatalf("want %s, got %+v, %v; something was read that is known: %t", want, d, err, live.reread)
		}
	}
}

// rolledOut is an Application that has been synced some times. It shares no memory with others, as if it had come from
// the API server.
func rolledOut(set *argo.ApplicationSet, env, name string) (*argo.Application, error) {
	app := guestbook.Application(set, env)
	app.Name, app.UID = name, types.UID("uid-"+name)
	at := time.Unix(1_700_000_000, 0)
	for _, commit := range []string{guestbook.OldCommit, guestbook.NewCommit} {
		app.Operation = guestbook.RollingSync()
		guestbook.Start(app, at)
		guestbook.Finish(app, at.Add(10*time.Second), commit)
	}
	guestbook.Compare(app, at.Add(time.Minute), guestbook.NewCommit, argo.SyncStatusCodeSynced, "Healthy")
	text, err := json.Marshal(app)
	if err != nil {
		return nil, err
	}
	received := &argo.Application{}
	return received, json.Unmarshal(text, received)
}

// instant answers every read at once.
type instant struct {
	applications map[string]*argocd.Projection
	versions     []cluster.Version
	reread       bool
}

// ApplicationSet is not read by Evaluate.
func (i *instant) ApplicationSet(context.Context, types.NamespacedName) (*argocd.ApplicationSet, error) {
	return nil, errors.New("not expected")
}

// SetVersion is not read by Evaluate.
func (i *instant) SetVersion(context.Context, types.NamespacedName, int) (cluster.Version, error) {
	return cluster.Version{}, errors.New("not expected")
}

// Application reads one.
func (i *instant) Application(_ context.Context, name types.NamespacedName) (*argocd.Projection, error) {
	i.reread = i.reread || i.applications[name.Name].Application.Health == "Healthy"
	return i.applications[name.Name], nil
}

// Versions lists those of the earlier steps.
func (i *instant) Versions(context.Context, string, labels.Selector) ([]cluster.Version, error) {
	return i.versions, nil
}
