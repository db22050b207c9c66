// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"maps"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/test/guestbook"
)

// proposed is what an approval of a scene would approve.
func proposed(
	step *int, revision string, set *argo.ApplicationSet, apps []*argo.Application,
) (*rollout.Proposal, error) {
	known := rollout.NewSnapshot()
	known.Add(set, apps...)
	return rollout.Propose(preview(known).Outlook(known.Sets()[0]), nil, step, revision)
}

// TestProposeOnATrain asks the gate, which knows what the earlier steps have completed.
func TestProposeOnATrain(t *testing.T) {
	waits := func(revision string, blocker string) string {
		return `stepgate candidate: {"revisions":["` + revision + `"],"reason":"NotApproved","blocker":"` + blocker + `"}`
	}
	said := []string{
		"something else", "stepgate candidate: {", waits(guestbook.NewCommit, "guestbook-qa-eu"), waits(older, ""), waits("ffff", ""),
	}
	for name, tc := range map[string]struct {
		revision      string
		said          []string
		want, current []string
		warns         string
	}{
		"the newest that lacks only the approval": {said: said, want: []string{older}, current: []string{guestbook.NewCommit, older, "ffff"}},
		"the gate does not say":                   {want: []string{guestbook.NewCommit}, current: []string{guestbook.NewCommit}},
		"an older one, by hand":                   {revision: "ffff", said: said, want: []string{"ffff"}, current: []string{guestbook.NewCommit, older, "ffff"}},
		"one that never was a candidate":          {revision: "eeee", said: said, want: []string{"eeee"}, current: []string{guestbook.NewCommit, older, "ffff"}, warns: "No Application of step 3 is compared with eeee, and none has it as a candidate"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set, apps := scene(turn)
			set.Annotations = map[string]string{"stepgate.io/approve": "3", "stepgate.io/pin": "candidate"}
			known, asked := rollout.NewSnapshot(), 0
			known.Add(set, apps...)
			p, err := rollout.Propose(preview(known).Outlook(known.Sets()[0]), func(string) rollout.Candidates {
				asked++
				return rollout.ParseCandidates(tc.said)
			}, ptr.To(3), tc.revision)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Texts()).To(Equal(tc.want))
			g.Expect(p.Current).To(ConsistOf(tc.current))
			g.Expect(asked).To(Equal(1), "Applications that are alike have the same candidates")
			g.Expect(strings.Join(p.Warnings, "")).To(ContainSubstring(tc.warns))
		})
	}
}

func TestPropose(t *testing.T) {
	const behind = " 3:prod-5=Healthy/OutOfSync@old:Pending@old"
	four := map[string]string{"stepgate.io/approve": "3"}
	for name, tc := range map[string]struct {
		scene       string
		annotations map[string]string
		step        int
		revision    string
		want        []string
		wantStep    int
		current     []string
		approved    bool
		wantNext    string
		wantError   string
	}{
		"the step that waits":                {scene: turn, annotations: four, want: []string{guestbook.NewCommit}, wantStep: 3, wantNext: "Step 3 goes on by itself now."},
		"several revisions":                  {scene: turn + behind, annotations: four, want: []string{guestbook.NewCommit, guestbook.OldCommit}, wantStep: 3, wantNext: "Step 3 goes on by itself now."},
		"approved already":                   {scene: turn, annotations: approvedBy(3, "bob"), step: 3, want: []string{guestbook.NewCommit}, wantStep: 3, approved: true, wantNext: "Step 3 goes on by itself now."},
		"of two, the one whose turn it is":   {scene: scenes["degraded"], annotations: map[string]string{"stepgate.io/approve": "all"}, step: 3, want: []string{guestbook.NewCommit}, wantStep: 3, wantNext: "Step 3 still waits until step 2 is done, and then goes on by itself."},
		"before its turn":                    {scene: scenes["degraded"], annotations: four, want: []string{guestbook.NewCommit}, wantStep: 3, wantNext: "Step 3 still waits until step 2 is done, and then goes on by itself."},
		"while it is paused and soaks":       {scene: turn, annotations: map[string]string{"stepgate.io/approve": "3", "stepgate.io/pause": "all", "stepgate.io/soak": "30m"}, want: []string{guestbook.NewCommit}, wantStep: 3, wantNext: "Step 3 still waits (Paused) and until 2026-11-22T20:42:08Z (Soaking: 3 Applications), and then goes on by itself."},
		"exactly a revision":                 {scene: turn, annotations: four, step: 3, revision: guestbook.NewCommit, want: []string{guestbook.NewCommit}, wantStep: 3, wantNext: "Step 3 goes on by itself now."},
		"the beginning of a revision":        {scene: turn, annotations: four, step: 3, revision: guestbook.NewCommit[:7], want: []string{guestbook.NewCommit}, wantStep: 3, wantNext: "Step 3 goes on by itself now."},
		"a revision that nobody knows":       {scene: turn, annotations: four, step: 3, revision: "v1.2.3", want: []string{"v1.2.3"}, wantStep: 3, wantNext: "Step 3 goes on by itself now."},
		"no step needs an approval":          {scene: turn, wantError: "no step of ApplicationSet argocd/guestbook needs an approval: the annotation stepgate.io/approve is not set"},
		"the step needs none":                {scene: turn, annotations: four, step: 2, wantError: `step 2 of ApplicationSet argocd/guestbook needs no approval: the annotation stepgate.io/approve is "3"`},
		"there is no such step":              {scene: turn, annotations: four, step: 4, wantError: "there is no step 4: ApplicationSet argocd/guestbook has the steps 1 to 3"},
		"nothing waits":                      {scene: scenes["complete"], annotations: four, wantError: "no step of ApplicationSet argocd/guestbook waits for an approval now; --step and --revision approve something in advance"},
		"nothing to deploy":                  {scene: scenes["complete"], annotations: four, step: 3, wantError: "step 3 of ApplicationSet argocd/guestbook has nothing to deploy: no sync of it is to come; --revision approves something in advance"},
		"two steps wait, and no other":       {scene: strings.ReplaceAll(scenes["degraded"], "2:qa-us=Healthy/Synced@new:Healthy@new", "1:dev-2=Degraded/Synced@new 2:qa-us=Healthy/OutOfSync@new:Waiting@new"), annotations: map[string]string{"stepgate.io/approve": "all"}, wantError: "steps 2, 3 of ApplicationSet argocd/guestbook wait for an approval: name one with --step"},
		"an Application is not compared":     {scene: turn + " 3:prod-9=Healthy/Unknown@:Waiting@new", annotations: four, wantError: "step 3 of ApplicationSet argocd/guestbook cannot be approved yet: Argo CD has not compared guestbook-prod-9; argocd app get guestbook-prod-9 --refresh has it do so"},
		"a revision with a comma":            {scene: turn, annotations: four, step: 3, revision: "a,b", wantError: `--revision: "a,b" is not a revision`},
		"what is current beside the entries": {scene: turn + " 3:prod-7=Healthy/Synced@old:Healthy@old", annotations: four, want: []string{guestbook.NewCommit}, wantStep: 3, current: []string{guestbook.NewCommit, guestbook.OldCommit}, wantNext: "Step 3 goes on by itself now."},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var step *int
			if tc.step != 0 {
				step = &tc.step
			}
			p, err := proposed(step, tc.revision, firstOf(with(tc.scene, maps.Clone(tc.annotations))),
				secondOf(with(tc.scene, nil)))
			if tc.wantError != "" {
				g.Expect(err).To(MatchError(tc.wantError))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Texts()).To(Equal(tc.want))
			g.Expect(p.Step).To(Equal(tc.wantStep))
			g.Expect(p.Approved()).To(Equal(tc.approved))
			g.Expect(p.Next()).To(Equal(tc.wantNext))
			if tc.current != nil {
				g.Expect(p.Current).To(ConsistOf(tc.current))
			}
		})
	}
}

func firstOf(set *argo.ApplicationSet, _ []*argo.Application) *argo.ApplicationSet { return set }

func secondOf(_ *argo.ApplicationSet, apps []*argo.Application) []*argo.Application { return apps }

func TestProposalLines(t *testing.T) {
	for name, tc := range map[string]struct {
		scene       string
		annotations map[string]string
		revision    string
	}{
		"one":      {turn, map[string]string{"stepgate.io/approve": "3"}, ""},
		"several":  {scenes["degraded"] + " 3:prod-5=Healthy/OutOfSync@old:Waiting@old", map[string]string{"stepgate.io/approve": "3", "stepgate.io/pause": "3"}, ""},
		"approved": {turn, approvedBy(3, "bob"), ""},
		"unknown":  {turn, map[string]string{"stepgate.io/approve": "3"}, "v1.2.3"},
	} {
		set, apps := with(tc.scene, tc.annotations)
		p, err := proposed(ptr.To(3), tc.revision, set, apps)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for kind, s := range screens {
			lines := p.Lines(s)
			expectFits(t, s, lines)
			golden.Expect(t, "approve-"+name+"-"+kind+".golden", strings.Join(lines, "\n")+"\n")
		}
	}
}
