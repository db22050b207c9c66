// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"strings"
	"testing"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// TestParents looks for the parent of argocd/dev.
func TestParents(t *testing.T) {
	for name, tc := range map[string]struct{ label, tracking, want string }{
		"none":                          {},
		"the label":                     {label: "platform", want: "platform"},
		"the annotation":                {tracking: "platform:argoproj.io/Application:argocd/dev", want: "platform"},
		"both":                          {"helm-release", "platform:argoproj.io/Application:argocd/dev", "platform"},
		"a parent of its own namespace": {tracking: "argocd_platform:argoproj.io/Application:argocd/dev", want: "platform"},
		"the same by the label":         {label: "argocd_platform", want: "platform"},
		"a parent of another namespace": {tracking: "team_platform:argoproj.io/Application:argocd/dev"},
		"copied from another one":       {tracking: "platform:argoproj.io/Application:argocd/other"},
		"of another kind":               {tracking: "platform:apps/Deployment:argocd/dev"},
		"no tracking at all":            {tracking: "platform"},
		"many colons":                   {tracking: ":::::"},
		"a chart's label of its own":    {label: "dev"},
		"a copy, and the label":         {"base", "platform:argoproj.io/Application:argocd/other", "base"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app := application()
			app.OwnerReferences, app.Labels, app.Annotations = nil, map[string]string{}, map[string]string{}
			if tc.label != "" {
				app.Labels[common.LabelKeyAppInstance] = tc.label
			}
			if tc.tracking != "" {
				app.Annotations[common.AnnotationKeyAppInstance] = tc.tracking
			}
			uid, set := Tracking{}.OwnerOf(app)
			owners := Tracking{}.Owners(decoded(t, app))
			p := NewProjection(app)
			g.Expect(p.Controlled()).To(BeFalse())
			if tc.want == "" {
				g.Expect(uid).To(BeEmpty())
				g.Expect(set.Name).To(BeEmpty())
				g.Expect(owners).To(BeEmpty())
				return
			}
			g.Expect(set).To(Equal(types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent(tc.want)}))
			g.Expect(uid).To(Equal(UIDOfParent("argocd", tc.want)))
			g.Expect(owners).To(HaveLen(1))
			g.Expect(owners[0].UID).To(Equal(uid), "the write and the watch agree")
			g.Expect(owners[0].NamespacedName).To(Equal(set))
			g.Expect(p.Owner).To(Equal(uid))
		})
	}
}

// TestParentsInOtherNamespaces looks for the parent of team/dev. Argo CD runs in argocd, and team is gated.
func TestParentsInOtherNamespaces(t *testing.T) {
	gated := func(namespace string) bool { return namespace != "free" }
	for name, tc := range map[string]struct {
		namespace, label, tracking, want string
		none                             bool
	}{
		"of Argo CD's namespace":          {tracking: "platform:argoproj.io/Application:team/dev", want: "argocd/platform"},
		"the same by the label":           {label: "platform", want: "argocd/platform"},
		"with its namespace":              {tracking: "argocd_platform:argoproj.io/Application:team/dev", want: "argocd/platform"},
		"of its own namespace":            {tracking: "team_platform:argoproj.io/Application:team/dev", want: "team/platform"},
		"of a third one":                  {tracking: "other_platform:argoproj.io/Application:team/dev", want: "other/platform"},
		"of one that is not gated":        {tracking: "free_platform:argoproj.io/Application:team/dev"},
		"in one that is not gated":        {namespace: "free", tracking: "platform:argoproj.io/Application:free/dev"},
		"nobody reads other ones":         {none: true, tracking: "argocd_platform:argoproj.io/Application:team/dev"},
		"nobody knows where it runs":      {none: true, tracking: "platform:argoproj.io/Application:team/dev", want: "team/platform"},
		"copied from another one":         {tracking: "platform:argoproj.io/Application:argocd/dev"},
		"a parent has the name":           {namespace: "waves", tracking: "platform:argoproj.io/Application:waves/dev"},
		"its own name, which another has": {label: "dev", want: "argocd/dev"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app := application()
			app.OwnerReferences, app.Labels, app.Annotations = nil, map[string]string{}, map[string]string{}
			if app.Namespace = "team"; tc.namespace != "" {
				app.Namespace = tc.namespace
			}
			if tc.label != "" {
				app.Labels[common.LabelKeyAppInstance] = tc.label
			}
			if tc.tracking != "" {
				app.Annotations[common.AnnotationKeyAppInstance] = tc.tracking
			}
			by := Tracking{Home: "argocd", Gated: gated}
			if tc.none {
				by = Tracking{}
			}
			p, owners := by.Projection(app), by.Owners(decoded(t, app))
			m := p.Member()
			if tc.want == "" {
				g.Expect(m.Owner).To(BeEmpty())
				g.Expect(owners).To(BeEmpty())
				return
			}
			namespace, parent, _ := strings.Cut(tc.want, "/")
			g.Expect(m.Namespace + "/" + m.Set).To(Equal(namespace + "/" + policy.NameOfParent(parent)))
			g.Expect(m.Owner).To(Equal(UIDOfParent(namespace, parent)))
			g.Expect(owners).To(ConsistOf(Owner{types.NamespacedName{Namespace: m.Namespace, Name: m.Set}, m.Owner}))
			g.Expect(m.Name).To(Equal(policy.MemberName(namespace, app.Namespace, app.Name)))
			g.Expect(m.Application.Name).To(Equal(m.Name))
			g.Expect(m.Object()).To(Equal(types.NamespacedName{Namespace: app.Namespace, Name: app.Name}))
			g.Expect(p.Name).To(Equal(app.Name))
		})
	}
}

// TestAnApplicationSetIsNoParent: what it generates is its own, whatever the tracking says.
func TestAnApplicationSetIsNoParent(t *testing.T) {
	g := NewWithT(t)
	app := application()
	app.Annotations = map[string]string{common.AnnotationKeyAppInstance: "platform:argoproj.io/Application:argocd/dev"}
	g.Expect(NewProjection(app).Controlled()).To(BeTrue())
	g.Expect(NewProjection(app).Set).To(Equal("guestbook"))
	g.Expect(Tracking{}.Owners(decoded(t, app))[0].Name).To(Equal("guestbook"))
}

// TestWhatAParentHasYetToDeploy: they are in its status, before they exist.
func TestWhatAParentHasYetToDeploy(t *testing.T) {
	g := NewWithT(t)
	parent := application()
	parent.Name = "platform"
	g.Expect(NewProjection(parent).Waves).To(BeNil())

	parent.Annotations = map[string]string{WavesAnnotation: "true"}
	resource := func(name string, wave int64, edit func(*argo.ResourceStatus)) argo.ResourceStatus {
		r := argo.ResourceStatus{
			Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Namespace: "argocd", Name: name, SyncWave: wave,
			Status: argo.SyncStatusCodeOutOfSync,
		}
		if edit != nil {
			edit(&r)
		}
		return r
	}
	parent.Status.Resources = []argo.ResourceStatus{
		resource("new", -3, nil),
		resource("there", 1, func(r *argo.ResourceStatus) { r.Status = argo.SyncStatusCodeSynced }),
		resource("leaves", 1, func(r *argo.ResourceStatus) { r.RequiresPruning = true }),
		resource("elsewhere", 1, func(r *argo.ResourceStatus) { r.Namespace = "team" }),
		resource("config", 1, func(r *argo.ResourceStatus) { r.Group, r.Kind = "", "ConfigMap" }),
	}
	set := NewProjection(parent).Waves
	g.Expect(set.Ordered()).To(BeTrue())
	g.Expect(set.Name).To(Equal(policy.NameOfParent("platform")))
	g.Expect(set.Recorded).To(Equal(map[string]policy.Recorded{"new": {Step: policy.WaveStep(-3) + 1}}))
	for by, own := range map[bool]*argo.SyncPolicy{
		true: nil, false: {Automated: &argo.SyncPolicyAutomated{}},
	} {
		parent.Spec.SyncPolicy = own
		g.Expect(NewProjection(parent).Waves.ByHand).To(Equal(by))
	}

	parent.Annotations[WavesAnnotation] = "false"
	g.Expect(NewProjection(parent).Waves).To(BeNil())
	parent.Annotations[WavesAnnotation] = "yes"
	g.Expect(NewProjection(parent).Waves).NotTo(BeNil(), "who writes something wants an order")
	g.Expect(NewProjection(parent).Waves.WavesProblem()).To(MatchError(`"yes" is neither "true" nor "false"`))
}

// TestSyncWavesAreSteps: what is watched and what is written have the same wave, and the labels stay as they are.
func TestSyncWavesAreSteps(t *testing.T) {
	for text, want := range map[string]string{"20": "20", "-1": "-1", "0": "", "": "", "ten": "", "1.5": ""} {
		g := NewWithT(t)
		app := application()
		app.Annotations = map[string]string{synccommon.AnnotationSyncWave: text}
		g.Expect(NewProjection(app).Application.Labels[policy.WaveLabel]).To(Equal(want))
		g.Expect(Tracking{}.Target(decoded(t, app), nil).Labels[policy.WaveLabel]).To(Equal(want))
		g.Expect(Tracking{}.Target(decoded(t, app), decoded(t, app)).OldLabels[policy.WaveLabel]).To(Equal(want))
		g.Expect(app.Labels).To(Equal(map[string]string{"env": "dev"}))
	}
}

func TestMaxUpdateOfWaves(t *testing.T) {
	for text, tc := range map[string]struct {
		// most are how many of 10 Applications of waves 10 and 20 may sync at a time; -1 is no limit.
		most    [2]int
		problem string
	}{
		"3":           {most: [2]int{3, 3}},
		"20=3":        {most: [2]int{-1, 3}},
		"10=25%,20=3": {most: [2]int{2, 3}},
		"1, 20=50%":   {most: [2]int{1, 5}},
		"20=0":        {most: [2]int{-1, 0}},
		"":            {[2]int{1, 1}, `"" is no number of Applications: write "3", or a share of the wave such as "25%"`},
		"20=-1":       {[2]int{1, 1}, `"-1" is no number of Applications: write "3", or a share of the wave such as "25%"`},
		"20=many":     {[2]int{1, 1}, `"many" is no number of Applications: write "3", or a share of the wave such as "25%"`},
		"first=1":     {[2]int{1, 1}, `"first" is not a wave: write "3", or limits of waves such as "10=25%,20=3"`},
		"20=1,20=2":   {[2]int{1, 1}, `"20=2" is a second limit of the same waves`},
		"99999999=1":  {[2]int{1, 1}, "there is no wave 99999999: waves are between -16777216 and 16777216"},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			parent := application()
			parent.Annotations = map[string]string{WavesAnnotation: "true", MaxUpdateAnnotation: text}
			set := NewProjection(parent).Waves
			for i, wave := range []int{10, 20} {
				most, limited := set.AtOnce(policy.WaveStep(wave), 10)
				if !limited {
					most = -1
				}
				g.Expect(most).To(Equal(tc.most[i]))
			}
			if tc.problem == "" {
				g.Expect(set.MaxUpdateProblem()).To(Succeed())
			} else {
				g.Expect(set.MaxUpdateProblem()).To(MatchError(tc.problem))
			}
		})
	}
}

// TestWavesOfAnApplicationSet count where it has no RollingSync.
func TestWavesOfAnApplicationSet(t *testing.T) {
	g := NewWithT(t)
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{WavesAnnotation: "true"}}}
	set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Application: "dev", Step: "1"}}
	g.Expect(NewApplicationSet(set).Waves).To(BeTrue())
	g.Expect(NewApplicationSet(set).Recorded).To(BeEmpty(), "that is of a strategy that it had before")
	set.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{Steps: []argo.ApplicationSetRolloutStep{{}}},
	}
	g.Expect(NewApplicationSet(set).Waves).To(BeFalse())
	g.Expect(NewApplicationSet(set).WavesProblem()).To(MatchError(
		"the ApplicationSet has RollingSync, whose steps are the order: remove one of the two"))
	g.Expect(deniedStep(`admission webhook "operation.stepgate.io" denied the request: wave -3 of ApplicationSet a/b may not`)).
		To(Equal(policy.WaveStep(-3)))
}

// TestChildren looks for what an ApplicationSet is to its parent.
func TestChildren(t *testing.T) {
	for name, tc := range map[string]struct {
		label, tracking, wave string
		edit                  func(*argo.ApplicationSet)
		want                  *Child
		orders                bool
	}{
		"no parent":      {wave: "3"},
		"the label":      {label: "platform", wave: "3", want: &Child{Set: "platform", Wave: "3"}},
		"the annotation": {tracking: "platform:argoproj.io/ApplicationSet:argocd/set", want: &Child{Set: "platform"}},
		"wave 0":         {label: "platform", wave: "0", want: &Child{Set: "platform"}},
		"no number":      {label: "platform", wave: "ten", want: &Child{Set: "platform"}},
		"an Application": {tracking: "platform:argoproj.io/Application:argocd/set"},
		"copied":         {tracking: "platform:argoproj.io/ApplicationSet:argocd/other"},
		"its own name":   {label: "set"},
		"a parent of its own namespace": {
			tracking: "argocd_platform:argoproj.io/ApplicationSet:argocd/set", want: &Child{Set: "platform"},
		},
		"a parent of another namespace": {label: "team_platform"},
		"it has waves": {
			label: "platform", wave: "3", want: &Child{Set: "platform", Wave: "3"}, orders: true,
			edit: func(set *argo.ApplicationSet) { set.Annotations[WavesAnnotation] = "true" },
		},
		"it has RollingSync": {
			label: "platform", want: &Child{Set: "platform"}, orders: true,
			edit: func(set *argo.ApplicationSet) {
				set.Spec.Strategy = &argo.ApplicationSetStrategy{
					Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{Steps: []argo.ApplicationSetRolloutStep{{}}},
				}
			},
		},
		"it has RollingSync without steps": {
			label: "platform", want: &Child{Set: "platform"},
			edit: func(set *argo.ApplicationSet) {
				set.Spec.Strategy = &argo.ApplicationSetStrategy{
					Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{},
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: "argocd", Name: "set", Labels: map[string]string{}, Annotations: map[string]string{},
			}}
			for key, text := range map[string]string{
				common.AnnotationKeyAppInstance: tc.tracking, synccommon.AnnotationSyncWave: tc.wave,
			} {
				if text != "" {
					object.Annotations[key] = text
				}
			}
			if tc.label != "" {
				object.Labels[common.LabelKeyAppInstance] = tc.label
			}
			if tc.edit != nil {
				tc.edit(object)
			}
			if tc.want != nil {
				tc.want.Owner, tc.want.Set = UIDOfParent("argocd", tc.want.Set), policy.NameOfParent(tc.want.Set)
			}
			set := NewApplicationSet(object)
			g.Expect(set.Child).To(Equal(tc.want))
			if tc.orders {
				tc.want = nil
			}
			g.Expect(set.Counts()).To(Equal(tc.want))
			g.Expect(set.Lends(UIDOfParent("argocd", "platform"))).To(Equal(tc.want != nil))
			g.Expect(set.Lends(UIDOfParent("argocd", "other"))).To(BeFalse())
		})
	}
}

// TestLabelsOfAChild: the wave is that of the ApplicationSet, and what is given stays as it is.
func TestLabelsOfAChild(t *testing.T) {
	g := NewWithT(t)
	in := func(wave string) *Child { return &Child{Wave: wave} }
	given := map[string]string{"env": "dev", policy.WaveLabel: "9"}
	g.Expect(in("3").Labels(given)).To(Equal(map[string]string{"env": "dev", policy.WaveLabel: "3"}))
	g.Expect(in("").Labels(given)).To(Equal(map[string]string{"env": "dev"}))
	g.Expect(given).To(Equal(map[string]string{"env": "dev", policy.WaveLabel: "9"}))
	g.Expect(in("3").Labels(nil)).To(Equal(map[string]string{policy.WaveLabel: "3"}))
	g.Expect(in("").Labels(nil)).To(BeNil())

	created := in("3").Target(policy.Target{})
	g.Expect(created.OldLabels).To(BeNil(), "it is being created")
	changed := in("3").Target(policy.Target{OldLabels: map[string]string{}})
	g.Expect(changed.OldLabels).To(Equal(map[string]string{policy.WaveLabel: "3"}))
	g.Expect(IsOrder(UIDOfParent("argocd", "platform"))).To(BeTrue())
	g.Expect(IsOrder("ce5e3f2a-77a1-4f3c-9d4e-2f0f3f1f6a10")).To(BeFalse())
}
