// SPDX-License-Identifier: Apache-2.0

package act

import (
	"bytes"
	"maps"
	"strconv"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// byWaves has the guestbook without RollingSync, and its Applications in waves.
func byWaves(t *testing.T, annotations map[string]string) *stage {
	t.Helper()
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[argocd.WavesAnnotation] = "true"
	s := newStage(t, annotations, true)
	set := &argo.ApplicationSet{}
	NewWithT(t).Expect(s.Get(t.Context(), acted, set)).To(Succeed())
	set.Spec.Strategy = nil
	NewWithT(t).Expect(s.Update(t.Context(), set)).To(Succeed())
	return s
}

func TestPauseWaves(t *testing.T) {
	const goesOn = ". Syncs that run go on, and no new one starts.\n"
	for name, tc := range map[string]struct {
		before          string
		waves           []int
		want            string
		says, wantError string
	}{
		"wave 20":              {waves: []int{20}, want: "20", says: "argocd/guestbook: wave 20 is paused" + goesOn},
		"wave 0":               {waves: []int{0}, want: "0", says: "argocd/guestbook: wave 0 is paused" + goesOn},
		"wave -1":              {waves: []int{-1}, want: "-1", says: "argocd/guestbook: wave -1 is paused" + goesOn},
		"two more":             {before: "20: freeze", waves: []int{0, -1}, want: "-1,0,20: freeze", says: "argocd/guestbook: waves -1, 0 and 20 are paused" + goesOn},
		"one that is":          {before: "20", waves: []int{20}, want: "20", says: "argocd/guestbook: wave 20 is paused already.\n"},
		"all":                  {want: "all", says: "argocd/guestbook: every wave is paused" + goesOn},
		"one of all":           {before: "all", waves: []int{20}, want: "all", says: "argocd/guestbook: every wave is paused already.\n"},
		"one beyond all waves": {waves: []int{1 << 40}, wantError: "--step: there is no wave 1099511627776: waves are between -16777216 and 16777216"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			before := map[string]string{}
			if tc.before != "" {
				before[settings.PauseAnnotation] = tc.before
			}
			s := byWaves(t, before)
			err := (&Pause{Verb: verbOf(s, &out), Steps: tc.waves}).Do(t.Context(), acted)
			if tc.wantError != "" {
				g.Expect(err).To(MatchError(tc.wantError))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.annotations(t)).To(HaveKeyWithValue(settings.PauseAnnotation, tc.want))
			g.Expect(out.String()).To(HavePrefix(tc.says))
		})
	}
}

func TestResumeWaves(t *testing.T) {
	for name, tc := range map[string]struct {
		before          string
		waves           []int
		left            string
		says, wantError string
	}{
		"wave 0 of some":   {before: "-1,0,20: x", waves: []int{0}, left: "-1,20: x", says: "argocd/guestbook: waves -1 and 20 are still paused."},
		"the last one":     {before: "-1", waves: []int{-1}, says: "argocd/guestbook: nothing is paused."},
		"one that is not":  {before: "20", waves: []int{0}, left: "20", says: "argocd/guestbook: only wave 20 is paused; there is nothing to resume."},
		"everything":       {before: "all", says: "argocd/guestbook: nothing is paused."},
		"one of all waves": {before: "all", waves: []int{20}, wantError: "every wave of ApplicationSet argocd/guestbook is paused: resume without --step, and pause those that are to stay paused"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			s := byWaves(t, map[string]string{settings.PauseAnnotation: tc.before})
			err := (&Resume{Verb: verbOf(s, &out), Steps: tc.waves}).Do(t.Context(), acted)
			if tc.wantError != "" {
				g.Expect(err).To(MatchError(tc.wantError))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.annotations(t)[settings.PauseAnnotation]).To(Equal(tc.left))
			g.Expect(out.String()).To(HavePrefix(tc.says))
		})
	}
}

// TestApproveAWave writes the number of the wave, and sees that the waves are taken away meanwhile.
func TestApproveAWave(t *testing.T) {
	for _, wave := range []int{20, 0, -1} {
		t.Run(strconv.Itoa(wave), func(t *testing.T) {
			g := NewWithT(t)
			number := strconv.Itoa(wave)
			approving := map[string]string{
				settings.ApproveAnnotation: number, settings.ApprovedAnnotation: number + "@abc,7@abc",
			}
			at := func(app *argo.Application) {
				app.Annotations = map[string]string{"argocd.argoproj.io/sync-wave": number}
			}
			var out bytes.Buffer
			s := byWaves(t, approving)
			g.Expect(approvedBy(t, s, verbOf(s, &out), ptr.To(wave), at)).To(Succeed())
			g.Expect(s.annotations(t)[settings.ApprovedAnnotation]).To(Equal("7@abc," + number + "@" + guestbook.NewCommit))
			g.Expect(out.String()).To(And(ContainSubstring("Approval of     wave "+number+" (1 of 1)\n"),
				HaveSuffix("Wave "+number+" goes on by itself now.\n")))

			s = byWaves(t, approving)
			s.between = func(c client.Client) {
				set := &argo.ApplicationSet{}
				g.Expect(c.Get(t.Context(), acted, set)).To(Succeed())
				set.Annotations[argocd.WavesAnnotation] = "false"
				g.Expect(c.Update(t.Context(), set)).To(Succeed())
			}
			g.Expect(approvedBy(t, s, verbOf(s, &out), ptr.To(wave), at)).To(
				MatchError(ContainSubstring("somebody has changed the steps")))
		})
	}
}

func TestApproveSaysWhichWaveHasChanged(t *testing.T) {
	g := NewWithT(t)
	known := rollout.NewSnapshot()
	set := guestbook.Set("argocd")
	set.UID, set.Spec.Strategy = "set", nil
	set.Annotations = map[string]string{argocd.WavesAnnotation: "true", settings.ApproveAnnotation: "0"}
	app := guestbook.Application(set, "dev")
	guestbook.Compare(app, actedAt, guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, "Healthy")
	known.Add(set, app)
	proposal, err := proposed(known, argocd.NewApplicationSet(set), ptr.To(0))
	g.Expect(err).NotTo(HaveOccurred())
	a := &Approve{Seen: []string{"another"}}
	g.Expect(a.Do(t.Context(), argocd.NewApplicationSet(set), proposal)).To(MatchError(
		"what wave 0 would deploy has changed meanwhile: nothing is approved, look at it again"))
}

func TestCommandOf(t *testing.T) {
	for want, a := range map[string]dashboard.Action{
		"stepgate pause guestbook -n argocd":             {Verb: dashboard.Pause},
		"stepgate resume guestbook -n argocd --step 3":   {Verb: dashboard.Resume, Step: 3},
		"stepgate approve guestbook -n argocd --step 0":  {Verb: dashboard.Approve, Wave: ptr.To(0)},
		"stepgate pause guestbook -n argocd --step -1":   {Verb: dashboard.Pause, Wave: ptr.To(-1)},
		"stepgate approve guestbook -n argocd --step 20": {Verb: dashboard.Approve, Wave: ptr.To(20)},
	} {
		a.Namespace, a.Name = "argocd", "guestbook"
		NewWithT(t).Expect(CommandOf(a)).To(Equal(want))
	}
}
