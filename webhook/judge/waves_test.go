// SPDX-License-Identifier: Apache-2.0

package judge_test

import (
	"cmp"
	"context"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

func judgeWaves(c *scenario.Cluster, name string, config settings.Config) judge.Verdict {
	j := judge.New(config, judge.Dependencies{
		Live: c, Known: scenario.Watched{Cluster: c}, Histories: &scenario.Watch{}, Clock: scenario.AtNoon,
	})
	w, err := judge.NewWrite(scenario.Pinned(scenario.SyncOf(c, name).Request()), argocd.Tracking{})
	if err != nil {
		panic(err)
	}
	return j.Judge(context.Background(), w)
}

func TestWaves(t *testing.T) {
	for name, tc := range map[string]struct {
		children, app string
		edit          func(c *scenario.Cluster)
		off           bool
		want          string
	}{
		"the first wave":               {children: "-5:crds=Healthy@b 0:base=Healthy@b", app: "crds", want: "allow EarlierStepsDone"},
		"the wave before is done":      {children: "-5:crds=Healthy 0:base=Healthy", app: "base", want: "allow EarlierStepsDone"},
		"the wave before is not":       {children: "-5:crds=Degraded 0:base=Healthy", app: "base", want: "deny NotHealthy crds=NotHealthy"},
		"no annotation is wave 0":      {children: "-:crds=Degraded 1:base=Healthy", app: "base", want: "deny NotHealthy crds=NotHealthy"},
		"no number is wave 0":          {children: "ten:crds=Degraded 1:base=Healthy", app: "base", want: "deny NotHealthy crds=NotHealthy"},
		"the same wave":                {children: "1:crds=Degraded 1:base=Healthy", app: "base", want: "allow EarlierStepsDone"},
		"a later wave":                 {children: "2:crds=Degraded 1:base=Healthy", app: "base", want: "allow EarlierStepsDone"},
		"two earlier waves":            {children: "-5:crds=Degraded 1:net=Degraded 7:base=Healthy", app: "base", want: "deny NotHealthy crds=NotHealthy net=NotHealthy"},
		"the parent itself is in none": {children: "-5:crds=Degraded", app: "platform", want: "not_gated NotManaged"},
		"the installation has none":    {children: "-5:crds=Degraded 0:base=Healthy", app: "base", off: true, want: "not_gated NotManaged"},
		"the parent gives no order": {
			children: "-5:crds=Degraded 0:base=Healthy", app: "base", want: "not_gated NotManaged",
			edit: func(c *scenario.Cluster) { delete(c.Apps[2].Annotations, argocd.WavesAnnotation) },
		},
		"the parent is gone": {
			children: "-5:crds=Degraded 0:base=Healthy", app: "base", want: "not_gated NotManaged",
			edit: func(c *scenario.Cluster) { c.Apps = c.Apps[:2] },
		},
		"one is yet to be created": {
			children: "-5:crds=Healthy 0:base=Healthy", app: "base", want: "deny NotGenerated net=NotGenerated",
			edit: func(c *scenario.Cluster) {
				c.Apps[2].Status.Resources = []argo.ResourceStatus{{
					Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "net", SyncWave: -5, Status: "OutOfSync",
				}}
			},
		},
		"one of a later wave is yet to be created": {
			children: "-5:crds=Healthy 0:base=Healthy", app: "base", want: "allow EarlierStepsDone",
			edit: func(c *scenario.Cluster) {
				c.Apps[2].Status.Resources = []argo.ResourceStatus{{
					Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "net", SyncWave: 1, Status: "OutOfSync",
				}}
			},
		},
		"its parent takes another wave for it": {
			children: "-5:crds=Degraded 0:base=Healthy", app: "crds", want: "allow EarlierStepsDone",
			edit: func(c *scenario.Cluster) { c.Apps[0].Annotations["argocd.argoproj.io/sync-wave"] = "-9" },
		},
		"what it comes after counts beside the parent": {
			children: "-5:crds=Healthy 0:base=Healthy 9:other=Degraded", app: "base", want: "deny DependencyNotDone other=NotHealthy",
			edit: func(c *scenario.Cluster) { c.Apps[1].Annotations[settings.AfterAnnotation] = "other" },
		},
		"and where the installation has no waves": {
			children: "-5:crds=Degraded 0:base=Healthy 9:other=Degraded", app: "base", off: true,
			want: "deny DependencyNotDone other=NotHealthy",
			edit: func(c *scenario.Cluster) { c.Apps[1].Annotations[settings.AfterAnnotation] = "other" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Waves(tc.children)
			if tc.edit != nil {
				tc.edit(c)
			}
			v := judgeWaves(c, tc.app, settings.Config{Waves: !tc.off})
			NewWithT(t).Expect(worded(v)).To(Equal(tc.want))
		})
	}
}

// TestWavesSayWhatTheyAre: nobody who reads the message has to know of a step of an ApplicationSet.
// TestAfterAParent: everything of a parent is its children. shop comes after platform.
func TestAfterAParent(t *testing.T) {
	after := func(name, names string) func(c *scenario.Cluster) {
		return func(c *scenario.Cluster) { application(c, name).Annotations[settings.AfterAnnotation] = names }
	}
	for name, tc := range map[string]struct {
		children, app string
		edit          func(c *scenario.Cluster)
		want          string
	}{
		"it is done": {children: "-5:crds=Healthy 9:web=Healthy", want: "not_gated NotManaged"},
		"one is not": {
			children: "-5:crds=Healthy 9:web=Degraded", want: "deny DependencyNotDone web=NotHealthy",
		},
		"it has no child": {want: "not_gated NotManaged"},
		"one is yet to be created": {
			children: "-5:crds=Healthy", want: "deny DependencyNotDone net=NotGenerated",
			edit: func(c *scenario.Cluster) {
				application(c, "platform").Status.Resources = []argo.ResourceStatus{{
					Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "net", Status: "OutOfSync",
				}}
			},
		},
		"it gives no order": {
			children: "9:web=Degraded", want: "not_gated NotManaged",
			edit: func(c *scenario.Cluster) { delete(application(c, "platform").Annotations, argocd.WavesAnnotation) },
		},
		"it is not done itself": {
			children: "9:web=Healthy", want: "deny DependencyNotDone platform=NotHealthy",
			edit: func(c *scenario.Cluster) { application(c, "platform").Status.Health.Status = "Degraded" },
		},
		"a child waits for the parent itself": {
			children: "-5:crds=Healthy 9:web=Degraded", app: "crds", edit: after("crds", "platform"), want: "allow EarlierStepsDone",
		},
		"a circle": {
			children: "-5:crds=Healthy 9:web=Degraded", edit: after("platform", "shop"),
			want: "deny DependencyNotDone web=NotHealthy circle shop > platform > shop",
		},
		"a circle through a child": {
			children: "-5:crds=Healthy 9:web=Degraded", edit: after("crds", "shop"),
			want: "deny DependencyNotDone web=NotHealthy circle shop > platform > shop",
		},
		"a circle, seen from a child": {
			children: "-5:crds=Healthy@a 9:web=Degraded", app: "crds", edit: func(c *scenario.Cluster) {
				after("platform", "shop")(c)
				application(c, "shop").Status.Health.Status = "Degraded"
			},
			want: "deny DependencyNotDone shop=NotHealthy circle platform > shop > platform",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Waves(tc.children)
			shop := scenario.Waves("1:shop=Healthy").Apps[0]
			shop.Annotations = map[string]string{settings.AfterAnnotation: "platform"}
			c.Apps = append(c.Apps, shop)
			if tc.edit != nil {
				tc.edit(c)
			}
			v := judgeWaves(c, cmp.Or(tc.app, "shop"), settings.Config{Waves: true})
			got := worded(v)
			if v.Circle != "" {
				got += " circle " + v.Circle
			}
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}
}

func TestWavesSayWhatTheyAre(t *testing.T) {
	c := scenario.Waves("-5:crds=Degraded 20:base=Healthy")
	NewWithT(t).Expect(judgeWaves(c, "base", settings.Config{Waves: true}).Message()).To(HavePrefix(
		"wave 20 of Application argocd/platform may not sync yet: 1 Application of wave -5 is not done: crds"))
}
