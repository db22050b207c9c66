// SPDX-License-Identifier: Apache-2.0

package act

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/approval"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

var (
	actedAt = time.Date(2026, 11, 22, 20, 31, 7, 0, time.UTC)
	acted   = types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
)

// stage is an API server with the guestbook.
type stage struct {
	client.WithWatch
	// patches are the bodies of the patches.
	patches []string
	// between happens once, before a patch is stored.
	between func(client.Client)
}

// newStage has a webhook that records alice, unless stamps is false.
func newStage(t *testing.T, annotations map[string]string, stamps bool) *stage {
	t.Helper()
	s := &stage{}
	scheme, err := kube.Scheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	set := guestbook.Set("argocd")
	set.UID, set.Annotations = "set", annotations
	s.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(set).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			body, err := patch.Data(o)
			if err != nil {
				return err
			}
			s.patches = append(s.patches, string(body))
			if between := s.between; between != nil {
				s.between = nil
				between(c)
			}
			before := &argo.ApplicationSet{}
			if err := c.Get(ctx, acted, before); err != nil {
				return err
			}
			dryRun := slices.ContainsFunc(options, func(p client.PatchOption) bool { return p == client.DryRunAll })
			if err := c.Patch(ctx, o, patch); err != nil {
				return err
			}
			if stamps {
				o.SetAnnotations(approval.Mutate(before.Annotations, o.GetAnnotations(), "alice", actedAt))
			}
			if stored := o.DeepCopyObject().(client.Object); !dryRun { //nolint:forcetypeassert // it is an ApplicationSet
				return c.Update(ctx, stored)
			}
			before.ResourceVersion = o.GetResourceVersion()
			return c.Update(ctx, before)
		},
	}).Build()
	return s
}

func (s *stage) annotations(t *testing.T) map[string]string {
	t.Helper()
	set := &argo.ApplicationSet{}
	NewWithT(t).Expect(s.Get(t.Context(), acted, set)).To(Succeed())
	return set.Annotations
}

// verbOf is a verb where the gate is in enforce mode.
func verbOf(s *stage, out *bytes.Buffer) Verb { return Verb{Objects: s, Installed: true, Out: out} }

func TestPause(t *testing.T) {
	const byAlice = "alice at 2026-11-22T20:31:07Z"
	end := "To end it: stepgate resume guestbook -n argocd"
	for name, tc := range map[string]struct {
		before    map[string]string
		steps     []int
		reason    string
		dryRun    bool
		verbose   bool
		unstamped bool
		mode      settings.Mode
		noGate    string
		want      map[string]string
		text      string
		wantError string
	}{
		"everything": {
			before: map[string]string{"note": "mine"}, want: map[string]string{"note": "mine", settings.PauseAnnotation: "all", settings.PausedByAnnotation: byAlice},
			text: "argocd/guestbook: every step is paused. Syncs that run go on, and no new one starts.\nPaused by " + byAlice + ". " + end,
		},
		"with a reason": {
			reason: "INC 1", verbose: true, want: map[string]string{settings.PauseAnnotation: "all: INC 1", settings.PausedByAnnotation: byAlice},
			text: "argocd/guestbook: every step is paused. Syncs that run go on, and no new one starts.\nPaused by " + byAlice + ": INC 1. " + end +
				"\n$ kubectl -n argocd annotate applicationset guestbook --overwrite 'stepgate.io/pause=all: INC 1'",
		},
		"one step": {
			steps: []int{3}, want: map[string]string{settings.PauseAnnotation: "3", settings.PausedByAnnotation: byAlice},
			text: "argocd/guestbook: step 3 of 3 is paused. Syncs that run go on, and no new one starts.\nPaused by " + byAlice + ". " + end,
		},
		"a step more": {
			before: map[string]string{settings.PauseAnnotation: "3: freeze"}, steps: []int{2, 3},
			want: map[string]string{settings.PauseAnnotation: "2,3: freeze", settings.PausedByAnnotation: byAlice},
			text: "argocd/guestbook: steps 2 and 3 of 3 are paused. Syncs that run go on, and no new one starts.\nPaused by " + byAlice + ": freeze. " + end,
		},
		"a step that is paused already": {
			before: map[string]string{settings.PauseAnnotation: "2, 3", settings.PausedByAnnotation: "bob at 10:00"}, steps: []int{3},
			want: map[string]string{settings.PauseAnnotation: "2, 3", settings.PausedByAnnotation: "bob at 10:00"},
			text: "argocd/guestbook: steps 2 and 3 of 3 are paused already, by bob at 10:00.",
		},
		"a step of all": {
			before: map[string]string{settings.PauseAnnotation: "all"}, steps: []int{3}, want: map[string]string{settings.PauseAnnotation: "all"},
			text: "argocd/guestbook: every step is paused already.",
		},
		"a step, of a pause that cannot be read": {
			before: map[string]string{settings.PauseAnnotation: "prod"}, steps: []int{3}, want: map[string]string{settings.PauseAnnotation: "prod"},
			text: "argocd/guestbook: every step is paused already.\n⚠ The annotation stepgate.io/pause is not valid, the stricter reading is used: \"prod\" is not a step: write \"all\", or numbers such as \"2,3\".",
		},
		"another reason": {
			before: map[string]string{settings.PauseAnnotation: "3: freeze"}, steps: []int{3}, reason: "INC 1",
			want: map[string]string{settings.PauseAnnotation: "3: INC 1", settings.PausedByAnnotation: byAlice},
			text: "argocd/guestbook: step 3 of 3 is paused. Syncs that run go on, and no new one starts.\nPaused by " + byAlice + ": INC 1. " + end,
		},
		"the same reason": {
			before: map[string]string{settings.PauseAnnotation: "3: INC 1"}, steps: []int{3}, reason: "INC 1",
			want: map[string]string{settings.PauseAnnotation: "3: INC 1"}, text: "argocd/guestbook: step 3 of 3 is paused already.",
		},
		"a dry run": {
			dryRun: true, text: "argocd/guestbook: every step is paused. Syncs that run go on, and no new one starts.\nPaused by " + byAlice + ". " + end + "\nThis was a server dry run: nothing is stored.",
		},
		"without the webhook": {
			unstamped: true, want: map[string]string{settings.PauseAnnotation: "all"},
			text: "✖ argocd/guestbook: the annotation is written, and nobody keeps it: stepgate's webhook has not answered, or it would have recorded who pauses. See stepgate doctor. " + end,
		},
		"in audit mode": {
			mode: settings.Audit, want: map[string]string{settings.PauseAnnotation: "all", settings.PausedByAnnotation: byAlice},
			text: "⚠ The mode is audit: nothing is held or refused.\nargocd/guestbook: every step is paused. Syncs that run go on, and no new one starts.\nPaused by " + byAlice + ". " + end,
		},
		"without a gate, although somebody is recorded": {
			noGate: "it is off", want: map[string]string{settings.PauseAnnotation: "all", settings.PausedByAnnotation: byAlice},
			text: "✖ argocd/guestbook: the annotation is written, and nobody keeps it: no gate answers. " + end + "\n⚠ Nothing is held or refused: it is off.",
		},
		"paused already, without a gate": {
			noGate: "it is off", before: map[string]string{settings.PauseAnnotation: "all"}, want: map[string]string{settings.PauseAnnotation: "all"},
			text: "argocd/guestbook: every step is paused already.\n⚠ Nothing is held or refused: it is off.",
		},
		"a step that does not exist": {steps: []int{4}, wantError: "--step: there is no step 4: ApplicationSet argocd/guestbook has the steps 1 to 3"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			s := newStage(t, maps.Clone(tc.before), !tc.unstamped)
			p := &Pause{Verb: verbOf(s, &out), Steps: tc.steps, Reason: tc.reason}
			p.DryRun, p.Verbose, p.Config.Mode = tc.dryRun, tc.verbose, tc.mode
			p.Config.Presence = func(string) settings.Presence { return settings.Presence{NoGate: tc.noGate} }
			err := p.Do(t.Context(), acted)
			if tc.wantError != "" {
				g.Expect(err).To(MatchError(tc.wantError))
				return
			}
			if tc.unstamped || tc.noGate != "" {
				g.Expect(err).To(MatchError(command.ErrFound))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(s.annotations(t)).To(Equal(tc.want))
			g.Expect(out.String()).To(Equal(tc.text + "\n"))
		})
	}
}

func TestResume(t *testing.T) {
	const goesOn = " The syncs that wait start by themselves, in their order."
	for name, tc := range map[string]struct {
		before map[string]string
		steps  []int
		want   map[string]string
		text   string
	}{
		"everything": {
			before: map[string]string{"note": "mine", settings.PauseAnnotation: "all: x", settings.PausedByAnnotation: "bob at 10:00"},
			want:   map[string]string{"note": "mine"}, text: "argocd/guestbook: nothing is paused." + goesOn,
		},
		"one step of some": {
			before: map[string]string{settings.PauseAnnotation: "2,3: x"}, steps: []int{3}, want: map[string]string{settings.PauseAnnotation: "2: x", settings.PausedByAnnotation: "alice at 2026-11-22T20:31:07Z"},
			text: "argocd/guestbook: step 2 of 3 is still paused." + goesOn,
		},
		"one step of all": {
			before: map[string]string{settings.PauseAnnotation: "all"}, steps: []int{2}, want: map[string]string{settings.PauseAnnotation: "1,3", settings.PausedByAnnotation: "alice at 2026-11-22T20:31:07Z"},
			text: "argocd/guestbook: steps 1 and 3 of 3 are still paused." + goesOn,
		},
		"the last step": {before: map[string]string{settings.PauseAnnotation: "3: x"}, steps: []int{3}, text: "argocd/guestbook: nothing is paused." + goesOn},
		"a step that is not paused": {
			before: map[string]string{settings.PauseAnnotation: "3"}, steps: []int{2}, want: map[string]string{settings.PauseAnnotation: "3"},
			text: "argocd/guestbook: only step 3 of 3 is paused; there is nothing to resume.",
		},
		"nothing": {text: "argocd/guestbook: nothing is paused; there is nothing to resume."},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			s := newStage(t, maps.Clone(tc.before), true)
			r := &Resume{Verb: verbOf(s, &out), Steps: tc.steps}
			g.Expect(r.Do(t.Context(), acted)).To(Succeed())
			g.Expect(s.annotations(t)).To(Equal(tc.want))
			g.Expect(out.String()).To(Equal(tc.text + "\n"))
		})
	}
}

// Two people pause at the same time: neither overwrites the other.
func TestConflict(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	s := newStage(t, nil, true)
	s.between = func(c client.Client) {
		set := &argo.ApplicationSet{}
		g.Expect(c.Get(t.Context(), acted, set)).To(Succeed())
		set.Annotations = map[string]string{settings.PauseAnnotation: "3: bob's"}
		g.Expect(c.Update(t.Context(), set)).To(Succeed())
	}
	p := &Pause{Verb: verbOf(s, &out), Steps: []int{2}}
	g.Expect(p.Do(t.Context(), acted)).To(Succeed())
	g.Expect(s.patches).To(HaveLen(2))
	g.Expect(s.patches).To(HaveEach(ContainSubstring("resourceVersion")))
	g.Expect(s.annotations(t)).To(HaveKeyWithValue(settings.PauseAnnotation, "2,3: bob's"))
}

// approved runs approve of step 3 on the ApplicationSet of a stage.
func approved(t *testing.T, s *stage, out *bytes.Buffer, dryRun bool) error {
	t.Helper()
	v := verbOf(s, out)
	v.DryRun = dryRun
	return approvedBy(t, s, v, ptr.To(3), func(*argo.Application) {})
}

// proposed is what an approval of a step would approve.
func proposed(known *rollout.Snapshot, set *argocd.ApplicationSet, number *int) (*rollout.Proposal, error) {
	preview := webhook.NewPreview(settings.Config{}, judge.Dependencies{
		Live: rollout.NewEvaluator(known), Known: known, Histories: known, Windows: judge.ProjectWindows{Known: known},
		Clock: clock.RealClock{},
	}, nil)
	return rollout.Propose(preview.Outlook(set), nil, number, "")
}

// approvedBy runs approve of a step, where the Applications are changed.
func approvedBy(t *testing.T, s *stage, v Verb, number *int, change func(app *argo.Application)) error {
	t.Helper()
	g := NewWithT(t)
	set := &argo.ApplicationSet{}
	g.Expect(s.Get(t.Context(), acted, set)).To(Succeed())
	known := rollout.NewSnapshot()
	var apps []*argo.Application
	for _, env := range []string{"dev", "qa", "prod"} {
		app, sync := guestbook.Application(set, env), argo.SyncStatusCodeSynced
		if env == "prod" {
			sync = argo.SyncStatusCodeOutOfSync
		}
		guestbook.Compare(app, actedAt.Add(-time.Minute), guestbook.NewCommit, sync, "Healthy")
		change(app)
		apps = append(apps, app)
	}
	known.Add(set, apps...)
	seen := argocd.NewApplicationSet(set)
	proposal, err := proposed(known, seen, number)
	g.Expect(err).NotTo(HaveOccurred())
	return (&Approve{Verb: v}).Do(t.Context(), seen, proposal)
}

func TestApprove(t *testing.T) {
	const (
		entry   = "3@" + guestbook.NewCommit
		byAlice = `[{"step":3,"of":"` + guestbook.NewCommit + `","by":"alice","at":"2026-11-22T20:31:07Z"}]`
		says    = "Approved by alice at 2026-11-22T20:31:07Z.\nStep 3 goes on by itself now.\n"
	)
	for name, tc := range map[string]struct {
		before    string
		stamps    string
		dryRun    bool
		unstamped bool
		between   func(set *argo.ApplicationSet)
		want      string
		patches   int
		says      string
		wantError string
	}{
		"the first one":              {want: entry, patches: 1, says: says},
		"beside another step's":      {before: "2@abc", want: "2@abc," + entry, patches: 1, says: says},
		"instead of an outdated one": {before: "3@abc,2@abc", want: "2@abc," + entry, patches: 1, says: says},
		"beside what cannot be read": {before: "prod", want: "prod," + entry, patches: 1, says: says},
		"approved already":           {before: entry, stamps: strings.ReplaceAll(byAlice, "alice", "bob"), want: entry, says: "It is approved already. Step 3 goes on by itself now.\n"},
		"an entry without a stamp":   {before: "2@abc," + entry, want: "2@abc," + entry, patches: 2, says: says},
		"a dry run":                  {dryRun: true, patches: 1, says: says + "This was a server dry run: nothing is stored.\n"},
		"a dry run, without a stamp": {dryRun: true, before: entry, want: entry, says: "It is in stepgate.io/approved and does not count: it would be removed, and written again. This was a dry run: nothing is stored.\n"},
		"without the webhook":        {unstamped: true, want: entry, patches: 1, says: "⚠ stepgate's webhook did not write into stepgate.io/approved-by who has approved 78de5d3, and so the approval does not count. See stepgate doctor, and then approve again.\n", wantError: "found"},
		"somebody approves another":  {between: func(set *argo.ApplicationSet) { set.Annotations[settings.ApprovedAnnotation] = "2@abc" }, want: "2@abc," + entry, patches: 2, says: says},
		"somebody changes the steps": {between: func(set *argo.ApplicationSet) {
			set.Spec.Strategy.RollingSync.Steps = set.Spec.Strategy.RollingSync.Steps[:2]
		}, patches: 1, wantError: "somebody has changed the steps of ApplicationSet argocd/guestbook meanwhile: nothing " +
			"is approved, look at it again"},
		"somebody takes the need away":  {between: func(set *argo.ApplicationSet) { delete(set.Annotations, settings.ApproveAnnotation) }, patches: 1, wantError: "somebody has changed the steps of ApplicationSet argocd/guestbook meanwhile: nothing is approved, look at it again"},
		"an entry written with a space": {before: " 3@" + guestbook.NewCommit + " ", want: entry, patches: 2, says: says},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := map[string]string{settings.ApproveAnnotation: "3"}
			if tc.before != "" {
				before[settings.ApprovedAnnotation] = tc.before
			}
			if tc.stamps != "" {
				before[settings.ApprovedByAnnotation] = tc.stamps
			}
			s := newStage(t, before, !tc.unstamped)
			if tc.between != nil {
				s.between = func(c client.Client) {
					set := &argo.ApplicationSet{}
					g.Expect(c.Get(t.Context(), acted, set)).To(Succeed())
					tc.between(set)
					g.Expect(c.Update(t.Context(), set)).To(Succeed())
				}
			}
			var out bytes.Buffer
			err := approved(t, s, &out, tc.dryRun)
			if tc.wantError != "" {
				g.Expect(err).To(MatchError(tc.wantError))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(s.annotations(t)[settings.ApprovedAnnotation]).To(Equal(tc.want))
			g.Expect(s.patches).To(HaveLen(tc.patches))
			g.Expect(out.String()).To(And(HavePrefix("ApplicationSet  argocd/guestbook\nApproval of     step 3 of 3"),
				HaveSuffix(tc.says)))
		})
	}
}
