// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	fakewatch "k8s.io/client-go/tools/cache/testing"
	"k8s.io/utils/ptr"
)

// fleet serves Applications in pages, 20 of each ApplicationSet, with ten entries of history. Ten ApplicationSets share
// a repository.
type fleet int

// ListWithContext makes a page.
func (f fleet) ListWithContext(_ context.Context, options metav1.ListOptions) (k8sruntime.Object, error) {
	from, _ := strconv.Atoi(options.Continue)
	to := min(from+int(options.Limit), int(f))
	list := &argo.ApplicationList{ListMeta: metav1.ListMeta{ResourceVersion: "77"}}
	for i := from; i < to; i++ {
		list.Items = append(list.Items, fleetApplication(i))
	}
	if to < int(f) {
		list.Continue = strconv.Itoa(to)
	}
	return list, nil
}

// WatchWithContext has no event.
func (f fleet) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

// List and Watch are for callers that have no context.
func (f fleet) List(o metav1.ListOptions) (k8sruntime.Object, error) {
	return f.ListWithContext(context.Background(), o)
}
func (f fleet) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return f.WatchWithContext(context.Background(), o)
}

// IsWatchListSemanticsUnSupported says that the first list cannot be streamed.
func (fleet) IsWatchListSemanticsUnSupported() bool { return true }

func fleetApplication(i int) argo.Application {
	set, at := i/20, metav1.NewTime(time.Unix(1_700_000_000, 0))
	source := argo.ApplicationSource{
		RepoURL: fmt.Sprintf("https://github.com/infra-team/deployments-%04d.git", set/10), TargetRevision: "HEAD", Path: fmt.Sprintf("apps/set-%05d-%02d", set, i%20),
	}
	app := argo.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprintf("fleet-%02d", set%10), Name: fmt.Sprintf("set-%05d-%02d", set, i%20), ResourceVersion: strconv.Itoa(i + 1),
		UID:    types.UID(fmt.Sprintf("0d5e1f3a-0000-4000-8000-%012d", i)),
		Labels: map[string]string{"envLabel": []string{"env-dev", "env-qa", "env-prod"}[i%20*3/20], "app.kubernetes.io/name": fmt.Sprintf("set-%05d", set), "team": "a", "region": "b"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: fmt.Sprintf("set-%05d", set), UID: types.UID(fmt.Sprintf("77777777-0000-4000-8000-%012d", set)), Controller: ptr.To(true),
		}},
	}}
	app.Spec.Source, app.Spec.Destination = &source, argo.ApplicationDestination{
		Server: fmt.Sprintf("https://cluster-%02d.example.com", i%20), Namespace: "guestbook",
	}
	operation := argo.Operation{
		InitiatedBy: argo.OperationInitiator{Automated: true, Username: "applicationset-controller"}, Sync: &argo.SyncOperation{},
	}
	for h := range 10 {
		app.Status.History = append(app.Status.History, argo.RevisionHistory{
			ID: int64(h), Revision: revision(set/10, h), DeployedAt: at, Source: source, InitiatedBy: operation.InitiatedBy,
		})
	}
	app.Status.OperationState = &argo.OperationState{
		Operation: operation, Phase: "Succeeded", StartedAt: at, FinishedAt: &at, SyncResult: &argo.SyncOperationResult{Revision: revision(set/10, 9), Source: source},
	}
	app.Status.Sync = argo.SyncStatus{
		Status: "Synced", Revision: revision(set/10, 9), ComparedTo: app.Spec.BuildComparedToStatus(app.Spec.GetSources()),
	}
	app.Status.Health.Status, app.Status.ReconciledAt = "Healthy", ptr.To(metav1.NewTime(at.Add(time.Minute)))
	return app
}

func revision(repository, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d", repository, n))
	return hex.EncodeToString(sum[:20])
}

// BenchmarkKept fills a Cache by its first list, and reports what stays in the heap of each Application.
func BenchmarkKept(b *testing.B) {
	for _, n := range []int{10000, 50000} {
		b.Run(fmt.Sprintf("applications=%d", n), func(b *testing.B) {
			before := heap()
			for b.Loop() {
				ctx, cancel := context.WithCancel(b.Context())
				c := NewCache(Source{fleet(n), fakewatch.NewFakeControllerSource()})
				done := make(chan struct{})
				go func() { c.Run(ctx); close(done) }()
				if !cache.WaitForCacheSync(ctx.Done(), c.Synced) || len(c.stores[0].applications.ListKeys()) != n {
					b.Fatal("the list is not complete")
				}
				b.ReportMetric(float64(heap()-before)/float64(n), "bytes/application")
				b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
				runtime.KeepAlive(c)
				cancel()
				<-done
			}
		})
	}
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // shared texts go with the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
