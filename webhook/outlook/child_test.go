// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"testing"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestTheRootsOfTheApplicationsOfAChild: web waits for dns, which addons controls, and which waits for crds itself, in the
// wave of addons; its own would have it wait for nobody.
func TestTheRootsOfTheApplicationsOfAChild(t *testing.T) {
	for it, row := range map[string]struct {
		after, want string
		lone        bool // what follows is in no order, and comes after dns
	}{
		"through the order":        {want: "crds"},
		"through what comes first": {want: "crds", lone: true},
		"what addons comes after":  {after: "other", want: "crds other"},
	} {
		t.Run(it, func(t *testing.T) {
			g := NewWithT(t)
			crds := "Degraded"
			if row.after != "" {
				crds = "Healthy"
			}
			c := scenario.Waves("-5:crds=" + crds + "@b -9:dns=Healthy@b 5:web=Healthy@b 9:other=Degraded@b")
			dns, web := c.Apps[1], c.Apps[2]
			dns.OwnerReferences = []metav1.OwnerReference{scenario.OwnedBy("addons")}
			delete(dns.Annotations, common.AnnotationKeyAppInstance)
			dns.Status.Sync.Status, web.Status.Sync.Status = "OutOfSync", "OutOfSync"
			set := scenario.RollingSync("addons")
			set.Spec.Strategy, set.Annotations = nil, map[string]string{
				common.AnnotationKeyAppInstance: "platform:argoproj.io/ApplicationSet:argocd/addons",
				synccommon.AnnotationSyncWave:   "3",
			}
			if row.after != "" {
				set.Annotations[settings.AfterAnnotation] = row.after
				row.want = row.after
			}
			c.Sets = append(c.Sets, set)
			known := scenario.Watched{Cluster: c}
			order := types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent("platform")}
			of, _ := known.Set(order)
			if row.lone {
				web.Annotations = map[string]string{settings.AfterAnnotation: "dns"}
				of = argocd.Alone("argocd", web.UID, argocd.NewProjection(web).Annotations)
			}
			config := scenario.Config()
			config.Waves = true
			j := judge.New(config, judge.Dependencies{Histories: &scenario.Watch{}, Clock: scenario.AtNoon})
			if !row.lone { // the text of a denial says the same
				o := New(j, of, known, nil)
				web := types.NamespacedName{Namespace: "argocd", Name: "web"}
				root := NewRoots(j, known, nil).Of(of, web, o.ToCome()["web"].Decision)
				g.Expect(root.Application).To(Equal(row.want))
			}
			needs := New(j, of, known, nil).Needs()
			g.Expect(needs.All[needs.First["web"]].Application).To(Equal(row.want))
		})
	}
}
