// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/live"
)

// pages is an API server that has so many pages of one Application each.
type pages struct {
	client.Reader
	pages, fails int
	namespace    string
	limits       []int64
}

func (p *pages) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	for _, option := range options {
		option.ApplyToList(&o)
	}
	p.namespace, p.limits = o.Namespace, append(p.limits, o.Limit)
	at, _ := strconv.Atoi(o.Continue)
	if at+1 == p.fails {
		return errors.New("the page is gone")
	}
	apps, ok := list.(*argo.ApplicationList)
	if !ok {
		return errors.New("another kind")
	}
	apps.Items = []argo.Application{{}}
	apps.Items[0].Name = "app-" + strconv.Itoa(at)
	if at+1 < p.pages {
		apps.Continue = strconv.Itoa(at + 1)
	}
	return nil
}

// A namespace is read to its last page, with a limit on each; a page that cannot be read is an error, and not the end.
func TestApplications(t *testing.T) {
	g := NewWithT(t)
	var names []string
	each := func(app *argo.Application) { names = append(names, app.Name) }
	all := &pages{pages: 3}
	g.Expect(live.Applications(t.Context(), all, "argocd", each)).To(Succeed())
	g.Expect(names).To(Equal([]string{"app-0", "app-1", "app-2"}))
	g.Expect(all.namespace).To(Equal("argocd"))
	g.Expect(all.limits).To(HaveEach(BeNumerically(">", 0)))
	g.Expect(live.Applications(t.Context(), &pages{pages: 3, fails: 2}, "",
		each)).To(MatchError("list Applications of all namespaces: the page is gone"))
}
