// SPDX-License-Identifier: Apache-2.0

package judge_test

import (
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
func TestWavesSayWhatTheyAre(t *testing.T) {
	c := scenario.Waves("-5:crds=Degraded 20:base=Healthy")
	NewWithT(t).Expect(judgeWaves(c, "base", settings.Config{Waves: true}).Message()).To(HavePrefix(
		"wave 20 of Application argocd/platform may not sync yet: 1 Application of wave -5 is not done: crds"))
}
