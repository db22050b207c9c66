// SPDX-License-Identifier: Apache-2.0

package judge_test

import (
	"cmp"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// withChild are the children of argocd/platform, of which the ApplicationSet addons, which gives no order, is one: in a
// wave. Its Applications are those that are named.
func withChild(children, wave string, applications ...string) *scenario.Cluster {
	c := scenario.Waves(children)
	set := scenario.RollingSync("addons")
	set.Spec.Strategy = nil
	set.Annotations = map[string]string{
		common.AnnotationKeyAppInstance: "platform:argoproj.io/ApplicationSet:argocd/addons",
		synccommon.AnnotationSyncWave:   wave,
	}
	for _, name := range applications {
		app := application(c, name)
		app.OwnerReferences = []metav1.OwnerReference{scenario.OwnedBy("addons")}
		delete(app.Annotations, common.AnnotationKeyAppInstance)
	}
	c.Sets = append(c.Sets, set)
	return c
}

func application(c *scenario.Cluster, name string) *argo.Application {
	for _, app := range c.Apps {
		if app.Name == name {
			return app
		}
	}
	panic("no Application " + name)
}

// TestTheApplicationsOfAChildCountAsTheChild has dns and mesh, which the ApplicationSet addons controls.
func TestTheApplicationsOfAChildCountAsTheChild(t *testing.T) {
	addons := func(c *scenario.Cluster) *argo.ApplicationSet { return c.Sets[0] }
	for name, tc := range map[string]struct {
		children, wave, app string
		edit                func(c *scenario.Cluster)
		off                 bool
		want                string
	}{
		"an earlier child is done": {
			children: "-5:crds=Healthy -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "allow EarlierStepsDone",
		},
		"an earlier child is not": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "deny NotHealthy crds=NotHealthy",
		},
		"it holds a later child up": {
			children: "-:dns=Degraded -:mesh=Healthy 5:web=Healthy", wave: "3", app: "web", want: "deny NotHealthy dns=NotHealthy",
		},
		"it holds no earlier child up": {
			children: "-:dns=Degraded -:mesh=Healthy 1:web=Healthy", wave: "3", app: "web", want: "allow EarlierStepsDone",
		},
		"its Applications are in one wave, whatever theirs is": {
			children: "-9:dns=Degraded 9:mesh=Healthy", wave: "3", app: "mesh", want: "allow EarlierStepsDone",
		},
		"their own wave lets them not go first": {
			children: "-5:crds=Degraded -9:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "deny NotHealthy crds=NotHealthy",
		},
		"no wave is wave 0, whatever theirs is": {
			children: "-5:crds=Degraded -9:dns=Healthy -:mesh=Healthy", app: "dns", want: "deny NotHealthy crds=NotHealthy",
		},
		"the label says whose child it is": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "deny NotHealthy crds=NotHealthy",
			edit: func(c *scenario.Cluster) {
				delete(addons(c).Annotations, common.AnnotationKeyAppInstance)
				addons(c).Labels = map[string]string{common.LabelKeyAppInstance: "platform"}
			},
		},
		"it is tracked as an Application": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "not_gated NotRollingSync",
			edit: func(c *scenario.Cluster) {
				addons(c).Annotations[common.AnnotationKeyAppInstance] = "platform:argoproj.io/Application:argocd/addons"
			},
		},
		"it has no parent": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "not_gated NotRollingSync",
			edit: func(c *scenario.Cluster) { delete(addons(c).Annotations, common.AnnotationKeyAppInstance) },
		},
		"it has no parent, and holds nobody up": {
			children: "-:dns=Degraded -:mesh=Healthy 5:web=Healthy", wave: "3", app: "web", want: "allow EarlierStepsDone",
			edit: func(c *scenario.Cluster) { delete(addons(c).Annotations, common.AnnotationKeyAppInstance) },
		},
		"it is gone": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "not_gated ApplicationSetNotFound",
			edit: func(c *scenario.Cluster) { c.Sets = nil },
		},
		"another one has its name": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "not_gated ApplicationSetNotFound",
			edit: func(c *scenario.Cluster) { addons(c).UID = "another" },
		},
		"its parent gives no order": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "not_gated NotRollingSync",
			edit: func(c *scenario.Cluster) { delete(application(c, "platform").Annotations, argocd.WavesAnnotation) },
		},
		"its parent is gone": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "not_gated NotRollingSync",
			edit: func(c *scenario.Cluster) { c.Apps = c.Apps[:3] },
		},
		"the installation has no waves": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", off: true,
			want: "not_gated NotRollingSync",
		},
		"it gives an order: RollingSync": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "allow FirstStep",
			edit: func(c *scenario.Cluster) {
				addons(c).Spec.Strategy = scenario.RollingSync("addons", "1").Spec.Strategy
				application(c, "dns").Labels = map[string]string{"step": "1"}
			},
		},
		"it gives an order: waves": {
			children: "-5:crds=Degraded -2:dns=Degraded 1:mesh=Healthy", wave: "3", app: "mesh", want: "deny NotHealthy dns=NotHealthy",
			edit: func(c *scenario.Cluster) { addons(c).Annotations[argocd.WavesAnnotation] = "true" },
		},
		"it gives an order, and so none of its Applications holds another child up": {
			children: "-:dns=Degraded -:mesh=Healthy 5:web=Healthy", wave: "3", app: "web", want: "allow EarlierStepsDone",
			edit: func(c *scenario.Cluster) { addons(c).Annotations[argocd.WavesAnnotation] = "true" },
		},
		"what it comes after counts beside its parent": {
			children: "-5:crds=Healthy -:dns=Healthy -:mesh=Healthy 9:other=Degraded", wave: "3", app: "dns",
			want: "deny DependencyNotDone other=NotHealthy",
			edit: func(c *scenario.Cluster) { addons(c).Annotations[settings.AfterAnnotation] = "other" },
		},
		"and without": {
			children: "-5:crds=Healthy -:dns=Healthy -:mesh=Healthy 9:other=Degraded", wave: "3", app: "dns",
			want: "deny DependencyNotDone other=NotHealthy",
			edit: func(c *scenario.Cluster) {
				addons(c).Annotations[settings.AfterAnnotation] = "other"
				delete(application(c, "platform").Annotations, argocd.WavesAnnotation)
			},
		},
		"what its Application comes after counts, too": {
			children: "-5:crds=Healthy -:dns=Healthy -:mesh=Healthy 9:other=Degraded", wave: "3", app: "dns",
			want: "deny DependencyNotDone other=NotHealthy",
			edit: func(c *scenario.Cluster) { application(c, "dns").Annotations[settings.AfterAnnotation] = "other" },
		},
		"its own mode does not count there": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "deny NotHealthy crds=NotHealthy",
			edit: func(c *scenario.Cluster) { addons(c).Annotations[settings.ModeAnnotation] = "off" },
		},
		"that of its parent does": {
			children: "-5:crds=Degraded -:dns=Healthy -:mesh=Healthy", wave: "3", app: "dns", want: "not_gated GateOff",
			edit: func(c *scenario.Cluster) { application(c, "platform").Annotations[settings.ModeAnnotation] = "off" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := withChild(tc.children, tc.wave, "dns", "mesh")
			if tc.edit != nil {
				tc.edit(c)
			}
			v := judgeWaves(c, tc.app, settings.Config{Waves: !tc.off})
			NewWithT(t).Expect(worded(v)).To(Equal(tc.want))
		})
	}
}

// TestAChildThatIsAnApplicationSetIsDoneItself before a later wave syncs, whatever its Applications are: web is in wave 5,
// and addons in wave 3.
func TestAChildThatIsAnApplicationSetIsDoneItself(t *testing.T) {
	const holds = "deny NotGenerated applicationset:addons=NotGenerated"
	conditions := func(all ...argo.ApplicationSetConditionType) func(c *scenario.Cluster) {
		return func(c *scenario.Cluster) {
			c.Sets[0].Status.Conditions = nil
			for _, condition := range all {
				c.Sets[0].Status.Conditions = append(c.Sets[0].Status.Conditions, argo.ApplicationSetCondition{
					Type: condition, Status: argo.ApplicationSetConditionStatusTrue, Message: "no such repository",
				})
			}
		}
	}
	deployed := func(edit func(r *argo.ResourceStatus)) func(c *scenario.Cluster) {
		return func(c *scenario.Cluster) {
			c.Sets = nil
			edit(&application(c, "platform").Status.Resources[0])
		}
	}
	const upToDate, failed = argo.ApplicationSetConditionResourcesUpToDate, argo.ApplicationSetConditionErrorOccurred
	const rolls = argo.ApplicationSetConditionRolloutProgressing
	for name, tc := range map[string]struct {
		app, want, next string
		edit            func(c *scenario.Cluster)
	}{
		"it is":                     {want: "allow EarlierStepsDone"},
		"it reports nothing yet":    {edit: conditions(), want: holds, next: "wait until the ApplicationSet controller has written them"},
		"it reports an error":       {edit: conditions(upToDate, failed), want: holds, next: "kubectl get applicationset addons -n argocd"},
		"its own rollout goes on":   {edit: conditions(upToDate, rolls), want: holds, next: "stepgate get addons -n argocd"},
		"its rollout, and an error": {edit: conditions(rolls, failed), want: holds, next: "repair the ApplicationSet"},
		"it does not exist yet": {
			edit: func(c *scenario.Cluster) { c.Sets = nil }, want: holds,
			next: "sync its parent, which creates applicationset:addons: argocd app sync platform",
		},
		"it is to be pruned": {
			edit: deployed(func(r *argo.ResourceStatus) { r.RequiresPruning = true }), want: "allow EarlierStepsDone",
		},
		"it is of another kind": {
			edit: deployed(func(r *argo.ResourceStatus) { r.Kind = "AppProject" }), want: "allow EarlierStepsDone",
		},
		"it is in another namespace": {
			edit: deployed(func(r *argo.ResourceStatus) { r.Namespace = "other" }), want: "allow EarlierStepsDone",
		},
		"it is in a later wave": {
			edit: deployed(func(r *argo.ResourceStatus) { r.SyncWave = 9 }), want: "allow EarlierStepsDone",
		},
		"it is being deleted": {edit: func(c *scenario.Cluster) {
			conditions(failed)(c)
			c.Sets[0].DeletionTimestamp = &metav1.Time{}
		}, want: "allow EarlierStepsDone"},
		"it is excluded": {edit: func(c *scenario.Cluster) {
			conditions(failed)(c)
			until := scenario.Noon.Add(time.Hour).Format(time.RFC3339)
			application(c, "platform").Annotations[settings.ExcludeAnnotation] = "applicationset:addons " + until + " INC-1"
		}, want: "allow EarlierStepsDone"},
		"its own Application": {app: "dns", edit: conditions(failed), want: "allow EarlierStepsDone"},
		"an earlier wave":     {app: "crds", edit: conditions(failed), want: "allow EarlierStepsDone"},
		"an Application of the parent is not done, either": {edit: func(c *scenario.Cluster) {
			conditions(failed)(c)
			application(c, "crds").Status.Health.Status = "Degraded"
		}, want: "deny NotHealthy crds=NotHealthy applicationset:addons=NotGenerated"},
		"what comes after the parent": {app: "other", edit: func(c *scenario.Cluster) {
			conditions(failed)(c)
			application(c, "other").Annotations = map[string]string{settings.AfterAnnotation: "platform"}
		}, want: "deny DependencyNotDone applicationset:addons=NotGenerated", next: "it comes after platform"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := withChild("-5:crds=Healthy 3:dns=Healthy 5:web=Healthy 9:other=Healthy", "3", "dns")
			application(c, "platform").Status.Resources = []argo.ResourceStatus{{
				Group: "argoproj.io", Kind: "ApplicationSet", Namespace: "argocd", Name: "addons", SyncWave: 3, Status: "OutOfSync",
			}}
			conditions(upToDate)(c)
			if tc.edit != nil {
				tc.edit(c)
			}
			v := judgeWaves(c, cmp.Or(tc.app, "web"), settings.Config{Waves: true})
			g.Expect(worded(v)).To(Equal(tc.want))
			g.Expect(v.Message()).To(ContainSubstring(tc.next))
			g.Expect(v.Message()).NotTo(ContainSubstring("1 Application of"))
		})
	}
}

// TestACircleThroughAChild is named: its Applications wait for what comes after it.
func TestACircleThroughAChild(t *testing.T) {
	g := NewWithT(t)
	c := withChild("-5:crds=Healthy -:dns=Healthy 9:other=Degraded", "3", "dns")
	c.Sets[0].Annotations[settings.AfterAnnotation] = "other"
	g.Expect(judgeWaves(c, "dns", settings.Config{Waves: true}).Circle).To(BeEmpty())
	application(c, "other").Annotations[settings.AfterAnnotation] = "addons"
	g.Expect(judgeWaves(c, "dns", settings.Config{Waves: true}).Circle).To(Equal("addons > other > addons"))
}

// TestAFailedReadOfTheParentIsNoDecision: nobody knows whether it gives an order.
func TestAFailedReadOfTheParentIsNoDecision(t *testing.T) {
	for read := 1; read <= 3; read++ {
		c := withChild("-5:crds=Healthy -:dns=Healthy", "3", "dns")
		c.FailAt = read
		g := NewWithT(t)
		v := judgeWaves(c, "dns", settings.Config{Waves: true})
		g.Expect(v.Err).To(MatchError(scenario.ErrRead))
		g.Expect(v.Rejects()).To(BeTrue())
	}
}

// TestWhoChangesAWriteGoesByTheSameOrder: the mutating webhook pins and holds by what the validating one judges by.
func TestWhoChangesAWriteGoesByTheSameOrder(t *testing.T) {
	g := NewWithT(t)
	remembered := func(c *scenario.Cluster, config settings.Config) (policy.Input, bool) {
		j := judge.New(config, judge.Dependencies{Histories: &scenario.Watch{}, Clock: scenario.AtNoon})
		w, err := judge.NewWrite(scenario.SyncOf(c, "dns").Request(), argocd.Tracking{})
		g.Expect(err).NotTo(HaveOccurred())
		return j.Remembered(w, scenario.Watched{Cluster: c})
	}
	c := withChild("-5:crds=Healthy -9:dns=Healthy", "3", "dns")
	in, ok := remembered(c, settings.Config{Waves: true})
	g.Expect(ok).To(BeTrue())
	g.Expect(in.ApplicationSet.Name).To(Equal(policy.NameOfParent("platform")))
	g.Expect(in.ApplicationSet.StepOf(in.Target.Labels)).To(Equal(policy.WaveStep(3)))
	g.Expect(in.ApplicationSet.StepOf(in.Target.OldLabels)).To(Equal(policy.WaveStep(3)))
	g.Expect(in.Settings.Follows).To(BeFalse())
	c.Sets[0].Annotations[settings.AfterAnnotation] = "other"
	in, _ = remembered(c, settings.Config{Waves: true})
	g.Expect(in.Settings.Follows).To(BeTrue(), "it has to say what it deploys")

	for _, none := range []func() settings.Config{
		func() settings.Config { return settings.Config{} },
		func() settings.Config {
			delete(application(c, "platform").Annotations, argocd.WavesAnnotation)
			return settings.Config{Waves: true}
		},
	} {
		in, _ = remembered(c, none())
		g.Expect(in.ApplicationSet.Name).To(Equal("addons"))
		g.Expect(in.Target.Labels[policy.WaveLabel]).To(Equal("-9"))
	}
}

// TestObjectsHaveTheApplicationsOfAChild, in whatever order they are added; what was added does not change.
func TestObjectsHaveTheApplicationsOfAChild(t *testing.T) {
	g := NewWithT(t)
	c := withChild("-5:crds=Healthy -9:dns=Healthy", "3", "dns")
	order := argocd.UIDOfParent("argocd", "platform")
	known := judge.NewObjects()
	waves := func() map[string]string {
		all := map[string]string{}
		for _, p := range known.Owned(order) {
			all[p.Name] = p.Application.Labels[policy.WaveLabel]
		}
		return all
	}
	for _, app := range c.Apps {
		known.AddApplication(argocd.NewProjection(app))
	}
	g.Expect(waves()).To(Equal(map[string]string{"crds": "-5"}))
	known.AddSet(argocd.NewApplicationSet(c.Sets[0]))
	g.Expect(waves()).To(Equal(map[string]string{"crds": "-5", "dns": "3"}))
	g.Expect(known.Owned("addons-uid")[0].Application.Labels[policy.WaveLabel]).To(Equal("-9"))
	g.Expect(known.Application(types.NamespacedName{Namespace: "argocd", Name: "dns"}).Lender).To(BeNil())
	c.Sets[0].Annotations[argocd.WavesAnnotation] = "true"
	known.AddSet(argocd.NewApplicationSet(c.Sets[0]))
	g.Expect(waves()).To(Equal(map[string]string{"crds": "-5"}), "it gives an order of its own now")
}

// TestAuditModeTellsTheSame: the write is judged there as if somebody had pinned it, and still in the wave of the child.
func TestAuditModeTellsTheSame(t *testing.T) {
	c := withChild("-5:crds=Degraded -9:dns=Healthy", "3", "dns")
	application(c, "platform").Annotations[settings.ModeAnnotation] = "audit"
	v := judgeWaves(c, "dns", settings.Config{Waves: true})
	NewWithT(t).Expect(worded(v)).To(Equal("deny NotHealthy crds=NotHealthy"))
	NewWithT(t).Expect(v.Rejects()).To(BeFalse())
}

// TestThePassOfOneApplicationSetSaysNothingOfOthers: its controller may still be about to write those of another child.
func TestThePassOfOneApplicationSetSaysNothingOfOthers(t *testing.T) {
	g := NewWithT(t)
	c := withChild("-5:crds=Healthy -:dns=Healthy", "3", "dns")
	j := judge.New(settings.Config{Waves: true}, judge.Dependencies{
		Histories: &scenario.Watch{PassEnded: true}, Clock: scenario.AtNoon,
	})
	w, err := judge.NewWrite(scenario.SyncOf(c, "dns").Request(), argocd.Tracking{})
	g.Expect(err).NotTo(HaveOccurred())
	known := scenario.Watched{Cluster: c}
	set := argocd.NewApplicationSet(c.Sets[0])
	order, of := j.OrderOf(set, known), set.Lend(known.Owned("addons-uid")[0])
	for all, ended := range map[*argocd.ApplicationSet]bool{set: true, order: false} {
		g.Expect(j.History(w, &all.ApplicationSet).PassEnded).To(Equal(ended))
		g.Expect(j.Waiting(policy.Input{ApplicationSet: &all.ApplicationSet}, of).History.PassEnded).To(Equal(ended))
	}
}
