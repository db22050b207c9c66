package rollout_test

import (
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
)

// turn is a rollout whose step 3 may start, as far as the order goes.
const turn = "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/Synced@new:Healthy@new 2:qa-us=Healthy/Synced@new:Healthy@new 3:prod-1..4=Healthy/OutOfSync@new:Pending@new"

// stopped has two failures in step 3.
const stopped = "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/Synced@new:Healthy@new 3:prod-1..2=Degraded/Synced@new:Progressing@new 3:prod-3..6=Healthy/OutOfSync@new:Pending@new"

// pause is the annotations of a pause that stepgate has stamped.
var pause = map[string]string{
	"stepgate.io/pause": "3", "stepgate.io/pause-reason": "INC-1234", "stepgate.io/paused-by": "alice at 2026-11-22T20:10:00Z",
}

// held are the scenes of the conditions.
var held = map[string]struct {
	scene       string
	annotations map[string]string
	// app is explained.
	app string
	// line is what `wait` prints.
	line string
}{
	"paused": {turn, pause, "guestbook-prod-1", "argocd/guestbook: Waiting, step 3/3, 3 of 7 done, waits (Paused: INC-1234, by alice at 2026-11-22T20:10:00Z)"},
	"paused-later": {
		scenes["syncing"], map[string]string{"stepgate.io/pause": "3"}, "guestbook-prod-1",
		"argocd/guestbook: Progressing, step 2/3, 1 of 7 done, waiting for guestbook-qa-eu (NotHealthy: Progressing) and 1 more",
	},
	"soaking":      {turn, map[string]string{"stepgate.io/soak": "30m"}, "guestbook-prod-1", "argocd/guestbook: Waiting, step 3/3, 3 of 7 done, waits until 2026-11-22T20:42:08Z (Soaking: 3 Applications)"},
	"soaked":       {turn, map[string]string{"stepgate.io/soak": "10m"}, "guestbook-prod-1", "argocd/guestbook: Waiting, step 3/3, 3 of 7 done, waiting for guestbook-prod-1 (NotSynced: OutOfSync) and 3 more"},
	"not-approved": {turn, map[string]string{"stepgate.io/approve": "3"}, "guestbook-prod-1", "argocd/guestbook: Waiting, step 3/3, 3 of 7 done, waits (NotApproved: 78de5d3)"},
	"failures": {
		stopped, map[string]string{"stepgate.io/max-failures": "1"}, "guestbook-prod-3",
		"argocd/guestbook: Waiting, step 3/3, 2 of 8 done, waits (TooManyFailures: 2 failed, and 1 may: guestbook-prod-1 (Degraded), guestbook-prod-2 (Degraded)), waiting for guestbook-prod-1 (NotHealthy: Degraded) and 1 more",
	},
	"several": {
		turn, map[string]string{"stepgate.io/pause": "all", "stepgate.io/soak": "3=30m", "stepgate.io/approve": "2,3", "stepgate.io/max-failures": "50%"}, "guestbook-prod-1",
		"argocd/guestbook: Waiting, step 3/3, 3 of 7 done, waits (Paused), waits until 2026-11-22T20:42:08Z (Soaking: 3 Applications), waits (NotApproved: 78de5d3)",
	},
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
		NewWithT(t).Expect(r.Line()).To(Equal(tc.line), name)
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

// A sync window and an approval are shown like the other conditions.
func TestGetShowsWindowsAndApprovals(t *testing.T) {
	at := func(text string) *metav1.Time {
		moment, err := time.Parse(time.RFC3339, text)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return &metav1.Time{Time: moment}
	}
	r := judged(scene(turn))
	r.Steps[1].Conditions = []rollout.Condition{{Reason: "NotApproved", Met: true, Text: "approved by alice at 2026-11-22T19:00:00Z", By: "alice", At: at("2026-11-22T19:00:00Z")}}
	r.Steps[2].Conditions = []rollout.Condition{
		{
			Reason: "WindowClosed", Text: "WindowClosed until 2026-11-22T22:00:00Z: deny 0 20 * * * for 2h", Until: at("2026-11-22T22:00:00Z"),
			Applications: []string{"guestbook-prod-1"}, Do: "wait; the sync then starts by itself.",
		},
		{Reason: "Soaking", Met: true, Text: "soaked for 30m"},
		{Reason: "NotApproved", Met: true, Text: "approved by bob at 2026-11-22T20:00:00Z", By: "bob", At: at("2026-11-22T20:00:00Z")},
	}
	NewWithT(t).Expect(r.Line()).To(Equal("argocd/guestbook: Waiting, step 3/3, 3 of 7 done, waits until 2026-11-22T22:00:00Z (WindowClosed: deny 0 20 * * * for 2h)"))
	expectTree(t, "window", r)
}

// The conditions of a large rollout take the room of rows.
func TestConditionsFitOnAScreen(t *testing.T) {
	set, apps := with(strings.ReplaceAll(scenes["large"], "2:qa-59..80=Progressing/Synced@new:Progressing@new", "2:qa-59..80=Healthy/OutOfSync@new:Pending@new"), map[string]string{
		"stepgate.io/pause": "all", "stepgate.io/pause-reason": strings.Repeat("incident ", 15), "stepgate.io/soak": "24h", "stepgate.io/approve": "all", "stepgate.io/max-failures": "0",
	})
	r := judged(set, apps)
	g := NewWithT(t)
	g.Expect(r.Total).To(Equal(200))
	lines := r.Tree(screen.Screen{Width: 80}, now, false)
	g.Expect(len(lines)).To(BeNumerically("<=", 30), strings.Join(lines, "\n"))
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
