// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// turn is a rollout whose step 3 may start, as far as the order goes.
const turn = "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/Synced@new:Healthy@new " +
	"2:qa-us=Healthy/Synced@new:Healthy@new 3:prod-1..4=Healthy/OutOfSync@new:Pending@new"

// stopped has two failures in step 3.
const stopped = "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/Synced@new:Healthy@new " +
	"3:prod-1..2=Degraded/Synced@new:Progressing@new 3:prod-3..6=Healthy/OutOfSync@new:Pending@new"

// pause is the annotations of a pause that stepgate has stamped.
var pause = map[string]string{
	"stepgate.io/pause": "3: INC-1234", "stepgate.io/paused-by": "alice at 2026-11-22T20:10:00Z",
}

// held are the scenes of the conditions.
var held = map[string]struct {
	scene       string
	annotations map[string]string
	// app is explained.
	app string
}{
	"paused":       {turn, pause, "guestbook-prod-1"},
	"paused-later": {scenes["syncing"], map[string]string{"stepgate.io/pause": "3"}, "guestbook-prod-1"},
	"soaking":      {turn, map[string]string{"stepgate.io/soak": "30m"}, "guestbook-prod-1"},
	"soaked":       {turn, map[string]string{"stepgate.io/soak": "10m"}, "guestbook-prod-1"},
	"not-approved": {turn, map[string]string{"stepgate.io/approve": "3"}, "guestbook-prod-1"},
	"failures":     {stopped, map[string]string{"stepgate.io/max-failures": "1"}, "guestbook-prod-3"},
	"several": {turn, map[string]string{
		"stepgate.io/pause": "all", "stepgate.io/soak": "3=30m", "stepgate.io/approve": "2,3", "stepgate.io/max-failures": "50%",
	}, "guestbook-prod-1"},
}

// with puts annotations on the ApplicationSet of a scene.
func with(text string, annotations map[string]string) (*argo.ApplicationSet, []*argo.Application) {
	set, apps := scene(text)
	set.Annotations = annotations
	return set, apps
}

func TestGetShowsConditions(t *testing.T) {
	list := &rollout.List{}
	for _, name := range []string{"failures", "not-approved", "paused", "paused-later", "several", "soaked", "soaking"} {
		tc := held[name]
		r := judged(with(tc.scene, tc.annotations))
		golden.Expect(t, "wait-"+name+".golden", r.Line()+"\n")
		expectTree(t, name, r)
		r.Name = "guestbook-" + name
		list.Items = append(list.Items, r)
	}
	complete := judged(with(scenes["complete"], pause))
	list.Items = append(list.Items, complete)
	for kind, s := range screens {
		lines := list.Lines(s, now, false, false)
		expectFits(t, s, lines)
		golden.Expect(t, "list-conditions-"+kind+".golden", strings.Join(lines, "\n")+"\n")
	}
	golden.Expect(t, "get-several.json", printed(t, "json", judged(with(turn, held["several"].annotations))))
}

func expectTree(t *testing.T, name string, r *rollout.Rollout) {
	t.Helper()
	for kind, s := range screens {
		lines := r.Tree(s, now, false)
		expectFits(t, s, lines)
		golden.Expect(t, "get-"+name+"-"+kind+".golden", strings.Join(lines, "\n")+"\n")
	}
}

func TestExplainShowsConditions(t *testing.T) {
	for name, tc := range held {
		by, want := rollout.ApplicationSetController, rollout.Held
		if name == "soaked" {
			want = rollout.Allowed
		}
		x := explainedOf(t, tc.app, by, nil)(with(tc.scene, tc.annotations))
		NewWithT(t).Expect(x.Outcome).To(Equal(want), name)
		for kind, s := range screens {
			lines := x.Lines(s, now)
			expectFits(t, s, lines)
			golden.Expect(t, "explain-"+name+"-"+kind+".golden", strings.Join(lines, "\n")+"\n")
		}
		golden.Expect(t, "explain-"+name+".json", printed(t, "json", x))
	}
}

// approvedBy is the annotation with which stepgate records an approval of the new commit.
func approvedBy(step int, user string) map[string]string {
	return map[string]string{
		"stepgate.io/approve": strconv.Itoa(step), "stepgate.io/approved": strconv.Itoa(step) + "@" + guestbook.NewCommit,
		"stepgate.io/approved-by": fmt.Sprintf(`[{"step":%d,"of":%q,"by":%q,"at":"2026-11-22T20:00:00Z"}]`, step, guestbook.NewCommit, user),
	}
}

// closedUntil is a sync window of every project.
type closedUntil time.Time

// Window implements webhook.SyncWindows.
func (c closedUntil) Window(string, argocd.WindowSubject, bool, time.Time) policy.Window {
	return policy.Window{Closed: true, OpensAt: time.Time(c), Detail: "deny 0 20 * * * for 2h"}
}

// A sync window is closed from 20:00 to 22:00. What is approved says by whom.
func TestGetShowsWindowsAndApprovals(t *testing.T) {
	annotations := approvedBy(3, "bob")
	annotations["stepgate.io/soak"] = "10m"
	set, apps := with(turn, annotations)
	r := judged(set, apps, closedUntil(time.Date(2026, 11, 22, 22, 0, 1, 0, time.UTC)))
	golden.Expect(t, "wait-window.golden", r.Line()+"\n")
	expectTree(t, "window", r)
	expectTree(t, "approved", judged(with(turn, approvedBy(3, "bob"))))
	expectTree(t, "approved-complete", judged(with(scenes["complete"], approvedBy(2, "alice"))))
}

// The conditions of a large rollout take the room of rows.
func TestConditionsFitOnAScreen(t *testing.T) {
	set, apps := with(strings.ReplaceAll(scenes["large"], "2:qa-59..80=Progressing/Synced@new:Progressing@new",
		"2:qa-59..80=Healthy/OutOfSync@new:Pending@new"), map[string]string{
		"stepgate.io/pause": "all: " + strings.Repeat("incident ", 15), "stepgate.io/soak": "24h", "stepgate.io/approve": "all", "stepgate.io/max-failures": "0",
	})
	r := judged(set, apps)
	g := NewWithT(t)
	g.Expect(r.Total).To(Equal(200))
	lines := r.Tree(screen.Screen{Width: 80}, now, false)
	g.Expect(len(lines)).To(BeNumerically("<=", 44), strings.Join(lines, "\n"))
}

// What a step waits for ends by itself while nothing changes: the goal of `wait` is then reached.
func TestAGoalThatSoaks(t *testing.T) {
	g := NewWithT(t)
	goal := rollout.Goal{Application: "guestbook-prod-1"}
	reached, state, err := goal.Reached(judged(with(turn, held["soaking"].annotations)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reached).To(BeFalse())
	g.Expect(state).To(Equal("guestbook-prod-1 (step 3 of 3): waits: Soaking until 2026-11-22T20:42:08Z: 3 Applications"))
	reached, _, err = goal.Reached(judged(with(turn, held["soaked"].annotations)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reached).To(BeTrue())
}

// TestWhatStarvesIsSaid has dev deploy two more commits while prod waits for its approval.
func TestWhatStarvesIsSaid(t *testing.T) {
	for name, tc := range map[string]struct {
		ran         []string
		annotations map[string]string
		want        bool
	}{
		"two have passed":            {[]string{"one", "two", "three", "new"}, map[string]string{"stepgate.io/approve": "3"}, true},
		"and one soaks":              {[]string{"one", "two", "three", "new"}, map[string]string{"stepgate.io/soak": "3=30m"}, true},
		"one has passed":             {[]string{"one", "two", "new"}, map[string]string{"stepgate.io/approve": "3"}, false},
		"nobody knows their order":   {[]string{"two", "three", "new"}, map[string]string{"stepgate.io/approve": "3"}, false},
		"it waits for nobody to act": {[]string{"one", "two", "three", "new"}, map[string]string{"stepgate.io/pause": "3"}, false},
		"it would deploy older ones": {
			[]string{"one", "two", "three", "new"}, map[string]string{
				"stepgate.io/approve": "3", "stepgate.io/pin": "candidate",
			}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set, apps := with(turn, tc.annotations)
			history := func(app *argo.Application, commits ...string) {
				app.Status.History = nil
				for _, c := range commits {
					if c == "new" {
						c = guestbook.NewCommit
					}
					app.Status.History = append(app.Status.History, argo.RevisionHistory{Revision: c, Source: app.Spec.GetSource()})
				}
			}
			for _, app := range apps {
				history(app, tc.ran...)
				if strings.HasPrefix(app.Name, "guestbook-prod") {
					history(app, "one")
				}
			}
			r := judged(set, apps)
			if !tc.want {
				g.Expect(r.Starves).To(BeEmpty())
				return
			}
			remedy := " (with RollingSync this needs start.enabled=true of the chart, too): " +
				"kubectl annotate applicationset guestbook -n argocd --overwrite stepgate.io/pin=candidate"
			if tc.annotations["stepgate.io/pin"] != "" {
				remedy = ": have stepgate start syncs, with start.enabled=true of the chart; without it, " +
					"stepgate.io/pin: candidate has no effect with RollingSync"
			}
			starves := "an earlier step has deployed 2 commits since the one that guestbook-prod-1 runs, and each takes the " +
				"place of the one that waits. To deploy the newest one that the conditions allow" + remedy
			g.Expect(r.Starves).To(Equal(starves))
			g.Expect(strings.Join(r.Tree(screen.Screen{Width: 400}, now, false), "\n")).To(ContainSubstring("Starves: " +
				starves))
			e := explainedOf(t, "guestbook-prod-1", rollout.ApplicationSetController, nil)(set, apps)
			g.Expect(strings.Join(e.Lines(screen.Screen{Width: 400}, now), "\n")).To(ContainSubstring(starves))
		})
	}
}
