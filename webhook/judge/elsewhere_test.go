// SPDX-License-Identifier: Apache-2.0

package judge_test

import (
	"context"
	"testing"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestChildrenInOtherNamespaces: a parent orders them with those of its own, if Argo CD says that it deploys them, and if
// their namespace is gated.
func TestChildrenInOtherNamespaces(t *testing.T) {
	by := argocd.Tracking{Home: "argocd", Gated: func(namespace string) bool { return namespace != "free" }}
	for name, tc := range map[string]struct {
		children, app string
		// away is the namespace of shop; team where it is empty.
		away string
		edit func(c *scenario.Cluster)
		want string
	}{
		"it waits for the parent's namespace": {
			children: "0:base=Degraded 1:shop=Healthy", app: "shop", want: "deny NotHealthy base=NotHealthy",
		},
		"it goes once that is done": {
			children: "0:base=Healthy 1:shop=Healthy", app: "shop", want: "allow EarlierStepsDone",
		},
		"the parent's namespace waits for it": {
			children: "0:base=Healthy -1:shop=Degraded", app: "base", want: "deny NotHealthy team/shop=NotHealthy",
		},
		"it waits for nobody of its own wave": {
			children: "1:base=Degraded 1:shop=Healthy", app: "shop", want: "allow EarlierStepsDone",
		},
		"it says so, and its parent does not": {
			children: "0:base=Healthy -1:shop=Degraded", app: "base", want: "allow EarlierStepsDone",
			edit: func(c *scenario.Cluster) { c.Apps[2].Status.Resources = nil },
		},
		"its namespace is not gated": {
			children: "0:base=Healthy -1:shop=Degraded", away: "free", app: "base", want: "allow EarlierStepsDone",
		},
		"nothing in a namespace that is not gated is held": {
			children: "0:base=Degraded 1:shop=Healthy", away: "free", app: "shop", want: "not_gated NotManaged",
		},
		"it has the label": {
			children: "0:base=Healthy -1:shop=Degraded", app: "base", want: "deny NotHealthy team/shop=NotHealthy",
			edit: func(c *scenario.Cluster) {
				delete(c.Apps[1].Annotations, common.AnnotationKeyAppInstance)
				c.Apps[1].Labels = map[string]string{common.LabelKeyAppInstance: "platform"}
			},
		},
		"it is yet to be created": {
			children: "0:base=Healthy -1:shop=Healthy", app: "base", want: "deny NotGenerated team/shop=NotGenerated",
			edit: func(c *scenario.Cluster) {
				c.Apps[1].Name = "other"
				c.Apps[2].Status.Resources[0].Status = argo.SyncStatusCodeOutOfSync
			},
		},
		"the parent is not Argo CD's": {
			children: "0:base=Degraded 1:shop=Healthy", app: "shop", want: "deny NotHealthy base=NotHealthy",
			edit: func(c *scenario.Cluster) {
				c.Tracking.Home = "gitops"
				for _, app := range c.Apps[:2] {
					app.Annotations[common.AnnotationKeyAppInstance] = "argocd_platform:argoproj.io/Application:" +
						app.Namespace + "/" + app.Name
				}
			},
		},
		"what it comes after itself is in its namespace": {
			children: "0:base=Healthy 1:shop=Healthy 2:other=Degraded", app: "shop", want: "deny DependencyNotDone team/other=NotHealthy",
			edit: func(c *scenario.Cluster) {
				c.Apps[1].Annotations[settings.AfterAnnotation] = "other"
				c.Apps[2].Namespace, c.Apps[2].Annotations = "team", nil
			},
		},
		"it comes after itself, which is nothing": {
			children: "0:base=Healthy 1:shop=Degraded", app: "shop", want: "allow EarlierStepsDone",
			edit: func(c *scenario.Cluster) { c.Apps[1].Annotations[settings.AfterAnnotation] = "shop" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Waves(tc.children)
			c.Tracking = by
			shop, parent := c.Apps[1], c.Apps[len(c.Apps)-1]
			shop.Namespace = "team"
			if tc.away != "" {
				shop.Namespace = tc.away
			}
			shop.Annotations[common.AnnotationKeyAppInstance] = "platform:argoproj.io/Application:" + shop.Namespace + "/shop"
			parent.Status.Resources = []argo.ResourceStatus{{
				Group: "argoproj.io", Kind: "Application", Namespace: shop.Namespace, Name: "shop", SyncWave: -1, Status: "Synced",
			}}
			if tc.edit != nil {
				tc.edit(c)
			}
			j := judge.New(settings.Config{Waves: true, Tracking: c.Tracking}, judge.Dependencies{
				Live: c, Known: scenario.Watched{Cluster: c}, Histories: &scenario.Watch{}, Clock: scenario.AtNoon,
			})
			w, err := judge.NewWrite(scenario.Pinned(scenario.SyncOf(c, tc.app).Request()), c.Tracking)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(worded(j.Judge(context.Background(), w))).To(Equal(tc.want))
		})
	}
}

// TestAChildElsewhereHasOneName in what orders it, and its own everywhere else.
func TestAChildElsewhereHasOneName(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Waves("1:shop=Healthy")
	c.Tracking, c.Apps[0].Namespace = argocd.Tracking{Home: "argocd"}, "team"
	c.Apps[0].Annotations[common.AnnotationKeyAppInstance] = "platform:argoproj.io/Application:team/shop"
	w, err := judge.NewWrite(scenario.SyncOf(c, "shop").Request(), c.Tracking)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Namespace + " " + w.Target.Name).To(Equal("team shop"))
	member := w.In("argocd")
	g.Expect(member.Namespace + " " + member.Target.Name).To(Equal("argocd team/shop"))
	g.Expect(member.With(w.App).Target.Name).To(Equal("team/shop"))
	g.Expect(member.Object()).To(Equal(w.Object()))
	g.Expect(policy.MemberName("argocd", "team", "shop")).To(Equal(member.Target.Name))
}
