// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/test/guestbook"
)

// waveOf are the sync waves of the steps of a scene.
var waveOf = map[string]string{"dev": "-1", "qa": "0", "prod": "20"}

// byWaves is a scene whose steps are the waves -1, 0 and 20, and which Argo CD syncs by itself.
func byWaves(text string, annotations map[string]string) (*argo.ApplicationSet, []*argo.Application) {
	set, apps := scene(text)
	set.Spec.Strategy = nil
	set.Annotations = map[string]string{"stepgate.io/waves": "true", "stepgate.io/max-update": "20=25%"}
	for key, value := range annotations {
		set.Annotations[key] = value
	}
	for _, app := range apps {
		app.Annotations = map[string]string{"argocd.argoproj.io/sync-wave": waveOf[app.Labels["env"]]}
		app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
		app.Status.Sync.ComparedTo.Source = *app.Spec.Source
	}
	return set, apps
}

// wavesDegraded is a scene that stands still in the wave 0.
const wavesDegraded = "1:dev=Healthy/Synced@new 2:qa-eu=Degraded/Synced@new 2:qa-us=Healthy/Synced@new " +
	"3:prod-1..4=Healthy/OutOfSync@new"

// wavesTurn is one in which the wave 20 may start, as far as the order goes.
const wavesTurn = "1:dev=Healthy/Synced@new 2:qa-eu=Healthy/Synced@new 3:prod-1..2=Healthy/OutOfSync@new"

func TestGetShowsWaves(t *testing.T) {
	g := NewWithT(t)
	paused := map[string]string{"stepgate.io/pause": "20: INC-1234"}
	r := judged(byWaves(wavesDegraded, paused))
	for _, kind := range []string{"80", "140"} {
		lines := r.Tree(screens[kind], now, false)
		expectFits(t, screens[kind], lines)
		golden.Expect(t, "waves-"+kind+".golden", strings.Join(lines, "\n")+"\n")
	}
	golden.Expect(t, "by-waves.json", printed(t, "json", r))
	g.Expect(r.Line()).To(Equal("argocd/guestbook: Waiting, wave 0 (2/3), 2 of 7 done, waiting for: " +
		"guestbook-qa-eu (NotHealthy: Degraded)"))
	list := &rollout.List{Items: []*rollout.Rollout{r}}
	g.Expect(list.Lines(screen.Screen{Width: 120}, now, false, false)).To(ContainElement(ContainSubstring("wave 0 (2/3)")))
	done := judged(byWaves("1:dev=Healthy/Synced@new 3:prod-1=Healthy/Synced@new", nil))
	g.Expect(done.Line()).To(Equal("argocd/guestbook: Complete, waves 2/2, 2 of 2 done"))
	g.Expect(rollout.Goal{}.Achieved(done, 0)).To(HavePrefix("argocd/guestbook is complete: 2 Applications in 2 waves"))
	none := judged(byWaves("", nil))
	g.Expect(none.Phase).NotTo(Equal(rollout.Ungated), "waves are an order, also without an Application")
	g.Expect(none.Tree(screen.Screen{Width: 80}, now, false)).NotTo(BeEmpty())
}

func TestExplainSaysTheWave(t *testing.T) {
	g := NewWithT(t)
	x := explainedOf(t, "guestbook-prod-1", rollout.AutoSync, nil)(byWaves(wavesDegraded, map[string]string{
		"stepgate.io/approve": "20",
	}))
	golden.Expect(t, "explain-waves-80.golden", strings.Join(x.Lines(screen.Screen{Width: 80}, now), "\n")+"\n")
	g.Expect([]any{x.Step, x.Steps, *x.Wave}).To(Equal([]any{3, 3, 20}))
	g.Expect(x.Blockers).To(HaveLen(1))
	g.Expect([]any{x.Blockers[0].Step, *x.Blockers[0].Wave}).To(Equal([]any{2, 0}))
	text, err := json.Marshal(x)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).NotTo(ContainSubstring("6710"), "the number of the rule is for nobody")

	reached, state, err := rollout.Goal{Application: "guestbook-qa-eu"}.Reached(judged(byWaves(wavesDegraded, nil)))
	g.Expect([]any{reached, err}).To(Equal([]any{false, nil}))
	g.Expect(state).To(HavePrefix("guestbook-qa-eu, wave 0 (2 of 3): "))
}

// TestSomebodyStartsAWave where Argo CD does not: the ApplicationSet controller starts no sync by waves.
func TestSomebodyStartsAWave(t *testing.T) {
	g := NewWithT(t)
	known := rollout.NewSnapshot()
	set, apps := byWaves(wavesDegraded, nil)
	known.Add(set, apps...)
	for name, want := range map[string]string{
		"guestbook-prod-1": "A sync that somebody asks for is refused now.",
		"guestbook-dev":    "A sync that somebody asks for may start now.",
	} {
		app := apps[slices.IndexFunc(apps, func(a *argo.Application) bool { return a.Name == name })].DeepCopy()
		app.Spec.SyncPolicy = nil
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
		g.Expect(err).NotTo(HaveOccurred())
		x, err := rollout.Explain(t.Context(), preview(known), known, rollout.Question{
			Live: &unstructured.Unstructured{Object: object}, App: app, Config: config,
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(x.By).To(Equal(rollout.User))
		g.Expect(x.Asked().InitiatedBy.Automated).To(BeFalse())
		g.Expect(x.Verdict()).To(Equal(want))
	}
}

// TestANeedOfAnotherSet has its wave, and no place among waves that are not known.
func TestANeedOfAnotherSet(t *testing.T) {
	g := NewWithT(t)
	known := rollout.NewSnapshot()
	before, its := byWaves(wavesTurn, map[string]string{"stepgate.io/approve": "20"})
	before.Name, before.UID = "infra", "infra"
	for _, app := range its {
		app.Name = strings.Replace(app.Name, "guestbook", "infra", 1)
		app.UID = "infra-" + app.UID
		app.OwnerReferences[0].Name, app.OwnerReferences[0].UID = "infra", "infra"
	}
	known.Add(before, its...)
	set, apps := with("1:dev=Healthy/OutOfSync@new:Pending@new", map[string]string{"stepgate.io/after": "infra"})
	known.Add(set, apps...)
	for _, of := range known.Sets() {
		if of.Name != set.Name {
			continue
		}
		r := rollout.Judge(preview(known).Outlook(of))
		g.Expect(r.Needs).NotTo(BeEmpty())
		n := r.Needs[0]
		g.Expect([]any{n.Reason, n.ApplicationSet, n.Step, *n.Wave}).To(Equal([]any{"NotApproved", "argocd/infra", 0, 20}))
		g.Expect(n.Command).To(Equal("stepgate approve infra -n argocd --step 20"))
	}
}

func TestProposeAWave(t *testing.T) {
	const (
		first = "1:dev=Healthy/OutOfSync@new 2:qa-eu=Healthy/OutOfSync@new 3:prod-1=Healthy/OutOfSync@new"
		zero  = "1:dev=Healthy/Synced@new 2:qa-eu=Healthy/OutOfSync@new 3:prod-1=Healthy/OutOfSync@new"
	)
	for name, tc := range map[string]struct {
		scene, approve string
		number         *int
		want           int
		wantNext       string
		wantError      string
	}{
		"20":                      {scene: wavesTurn, approve: "20", number: ptr.To(20), want: 20, wantNext: "Wave 20 goes on by itself now."},
		"20, before its turn":     {scene: zero, approve: "20", number: ptr.To(20), want: 20, wantNext: "Wave 20 still waits until wave 0 is done, and then goes on by itself."},
		"0":                       {scene: zero, approve: "0", number: ptr.To(0), want: 0, wantNext: "Wave 0 goes on by itself now."},
		"-1":                      {scene: first, approve: "-1", number: ptr.To(-1), want: -1, wantNext: "Wave -1 goes on by itself now."},
		"the one that waits is 0": {scene: zero, approve: "all", want: 0, wantNext: "Wave 0 goes on by itself now."},
		"0 needs none":            {scene: zero, approve: "20", number: ptr.To(0), wantError: `wave 0 of ApplicationSet argocd/guestbook needs no approval: the annotation stepgate.io/approve is "20"`},
		"nothing is in it":        {scene: zero, approve: "all", number: ptr.To(3), wantError: "ApplicationSet argocd/guestbook has no Application in wave 3"},
		"beyond all waves":        {scene: zero, approve: "all", number: ptr.To(1 << 40), wantError: "there is no wave 1099511627776: waves are between -16777216 and 16777216"},
		"none waits":              {scene: "1:dev=Healthy/Synced@new", approve: "20", wantError: "no wave of ApplicationSet argocd/guestbook waits for an approval now; --step and --revision approve something in advance"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set, apps := byWaves(tc.scene, map[string]string{"stepgate.io/approve": tc.approve})
			p, err := proposed(tc.number, "", set, apps)
			if tc.wantError != "" {
				g.Expect(err).To(MatchError(tc.wantError))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Step).To(Equal(tc.want))
			g.Expect(p.Texts()).To(Equal([]string{guestbook.NewCommit}))
			g.Expect(p.Next()).To(Equal(tc.wantNext))
			g.Expect(p.Lines(screen.Screen{Width: 80})).To(ContainElement(MatchRegexp(`^Approval of     ` + p.Name() + ` \(\d of 3\)$`)))
		})
	}
}
