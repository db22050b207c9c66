// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/guestbook"
)

func TestGoal(t *testing.T) {
	for name, tc := range map[string]struct {
		scene     string
		goal      rollout.Goal
		reached   bool
		want      string
		wantError string
	}{
		"a rollout that is complete": {scene: scenes["complete"], reached: true, want: "argocd/guestbook: Complete, step 3/3, 7 of 7 done"},
		"at this commit":             {scene: scenes["complete"], goal: rollout.Goal{Revision: guestbook.NewCommit[:7]}, reached: true, want: "argocd/guestbook: Complete, step 3/3, 7 of 7 done"},
		"not yet at that commit": {
			scene: scenes["complete"], goal: rollout.Goal{Revision: "ffff"},
			want: "argocd/guestbook: Complete, step 3/3, 7 of 7 done, and guestbook-dev has not deployed ffff yet",
		},
		"a rollout that waits": {
			scene: scenes["degraded"], want: "argocd/guestbook: Waiting, step 2/3, 2 of 7 done, waiting for: guestbook-qa-eu (NotHealthy: Degraded)",
		},
		"without Applications":        {want: "argocd/guestbook has no Applications yet"},
		"an Application that waits":   {scene: scenes["degraded"], goal: rollout.Goal{Application: "guestbook-prod-1"}, want: "guestbook-prod-1 (step 3 of 3): waits for guestbook-qa-eu; in the end it waits for this: guestbook-qa-eu (NotHealthy: Degraded)"},
		"an Application that is done": {scene: scenes["degraded"], goal: rollout.Goal{Application: "guestbook-dev"}, reached: true, want: "guestbook-dev (step 1 of 3): done"},
		"an Application whose turn has come": {
			scene: "1:dev=Healthy/Synced@new 2:qa-eu=Healthy/OutOfSync@new", goal: rollout.Goal{Application: "guestbook-qa-eu"}, reached: true,
			want: "guestbook-qa-eu (step 2 of 3): may start",
		},
		"its turn has come, for another commit": {
			scene: "1:dev=Healthy/Synced@new 2:qa-eu=Healthy/OutOfSync@new", goal: rollout.Goal{Application: "guestbook-qa-eu", Revision: "ffff"},
			want: "guestbook-qa-eu (step 2 of 3): may start, not compared with ffff yet",
		},
		"an Application of no step": {scene: "0:sandbox=Healthy/Synced@new", goal: rollout.Goal{Application: "guestbook-sandbox"}, reached: true, want: "guestbook-sandbox is in no step, and is not gated"},
		"an Application that is gone": {
			scene: "1:dev=Healthy/Synced@new", goal: rollout.Goal{Application: "guestbook-qa"}, wantError: `ApplicationSet argocd/guestbook has no Application "guestbook-qa" any more`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := judged(scene(tc.scene))
			reached, state, err := tc.goal.Reached(r)
			if tc.wantError != "" {
				g.Expect(err).To(MatchError(tc.wantError))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(reached).To(Equal(tc.reached))
			g.Expect(state).To(Equal(tc.want))
		})
	}
}

// TestARevisionOrANewerOne lets commits land while the rollout of the old one is waited for.
func TestARevisionOrANewerOne(t *testing.T) {
	for name, tc := range map[string]struct {
		ran     []string // by qa
		health  string
		reached bool
		want    string
	}{
		"it runs that":                     {[]string{guestbook.OldCommit}, "Healthy", true, ""},
		"it runs the one after that":       {[]string{guestbook.NewCommit}, "Healthy", true, ""},
		"it runs the one before":           {[]string{older}, "Healthy", false, "guestbook-qa has not deployed"},
		"it runs what nobody ran after it": {[]string{"ffff"}, "Healthy", false, "guestbook-qa has not deployed"},
		"it is not Healthy with it":        {[]string{guestbook.OldCommit}, "Degraded", false, "guestbook-qa has not deployed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set, apps := scene("1:dev=Healthy/Synced@new 2:qa=Healthy/OutOfSync@new")
			ran := func(app *argo.Application, revisions ...string) {
				app.Status.History = nil
				for _, r := range revisions {
					app.Status.History = append(app.Status.History, argo.RevisionHistory{Revision: r, Source: app.Spec.GetSource()})
				}
			}
			ran(apps[0], older, guestbook.OldCommit, guestbook.NewCommit)
			ran(apps[1], tc.ran...)
			apps[1].Status.Health.Status = health.HealthStatusCode(tc.health)
			reached, state, err := rollout.Goal{Revision: guestbook.OldCommit}.Reached(judged(set, apps))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(reached).To(Equal(tc.reached))
			g.Expect(state).To(ContainSubstring(tc.want))
		})
	}
}

// older is the commit before guestbook.OldCommit.
const older = "0123456789012345678901234567890123456789"

func TestAchieved(t *testing.T) {
	g := NewWithT(t)
	r := judged(scene(scenes["complete"]))
	g.Expect(rollout.Goal{Revision: guestbook.NewCommit}.Achieved(r,
		190*time.Second)).To(Equal("argocd/guestbook has 78de5d3 or newer: 7 Applications in 3 steps, after 3m10s"))
	_, _, err := rollout.Goal{}.Reached(judged(guestbookWithoutSteps(), nil))
	g.Expect(err).To(MatchError("ApplicationSet argocd/plain has no steps of RollingSync: there is nothing to wait for"))
}
