// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// pages serves Applications as an API server without WatchList does: in one piece where a resource version is given.
type pages struct {
	total int
	asked []metav1.ListOptions
}

func (p *pages) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	p.asked = append(p.asked, options)
	from, size := 0, p.total
	if options.Continue != "" {
		from, _ = strconv.Atoi(options.Continue)
	}
	if options.ResourceVersion == "" && options.Limit > 0 {
		size = int(options.Limit)
	}
	list := &argo.ApplicationList{ListMeta: metav1.ListMeta{ResourceVersion: "77"}}
	for i := from; i < min(from+size, p.total); i++ {
		list.Items = append(list.Items, argo.Application{
			ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: fmt.Sprintf("app-%d", i), ResourceVersion: "1"},
		})
	}
	if from+size < p.total {
		list.Continue = strconv.Itoa(from + size)
	}
	return list, nil
}

func (p *pages) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

// List and Watch are for callers that have no context.
func (p *pages) List(o metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), o)
}
func (p *pages) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), o)
}

// IsWatchListSemanticsUnSupported says that the first list cannot be streamed.
func (p *pages) IsWatchListSemanticsUnSupported() bool { return true }

// TestTheFirstListComesInPages runs the informers of a Cache on an API server that does not stream lists.
func TestTheFirstListComesInPages(t *testing.T) {
	g := NewWithT(t)
	apps, sets := &pages{total: 2*pageSize + 1}, &pages{}
	known := NewCache(Source{Applications: apps, ApplicationSets: sets})
	go known.Run(t.Context())
	g.Expect(cache.WaitForCacheSync(t.Context().Done(), known.Synced)).To(BeTrue())
	g.Expect(known.stores[0].applications.List()).To(HaveLen(2*pageSize + 1))
	g.Expect(known.stores[0].applications.List()[0]).To(BeAssignableToTypeOf(&argocd.Projection{}))
	g.Expect(apps.asked).To(HaveLen(3))
	for _, options := range apps.asked {
		g.Expect(options.Limit).To(BeEquivalentTo(pageSize))
		g.Expect(options.ResourceVersion).To(BeEmpty())
	}
}

// TestAPageThatFailsFailsTheList cuts the list after its first page.
func TestAPageThatFailsFailsTheList(t *testing.T) {
	g := NewWithT(t)
	_, err := paged{failing{&pages{total: pageSize + 1}}, NewCache().transform}.ListWithContext(t.Context(),
		metav1.ListOptions{ResourceVersion: "0"})
	g.Expect(err).To(MatchError("gone"))
}

// failing fails every page but the first.
type failing struct{ *pages }

func (f failing) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue != "" {
		return nil, fmt.Errorf("gone")
	}
	return f.pages.ListWithContext(ctx, options)
}
