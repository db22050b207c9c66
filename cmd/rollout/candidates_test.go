// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/settings"
)

// train are three candidates: one that is not complete, one that soaks, and one that may start.
func train() rollout.Candidates {
	until := time.Date(2026, 11, 22, 20, 42, 8, 0, time.UTC)
	return rollout.Candidates{
		{Revisions: []string{guestbook.NewCommit}, Compared: true, Reason: "NotCompleted", Blocker: "guestbook-dev"},
		{Revisions: []string{older}, Reason: "Soaking", Blocker: "guestbook-dev", Until: &until},
		{Revisions: []string{guestbook.OldCommit}, Next: true},
	}
}

func TestCandidatesAreShown(t *testing.T) {
	g := NewWithT(t)
	e := &rollout.Explanation{Namespace: "argocd", Application: "guestbook-prod", Candidates: train()}
	lines := e.Lines(screen.Screen{Width: 100}, now)
	set, apps := scene(turn)
	set.Annotations = map[string]string{settings.PinAnnotation: "candidate"}
	r := judged(set, apps)
	r.AskGate(func(app string) rollout.Candidates {
		g.Expect(app).To(HavePrefix("guestbook-"))
		return train()
	})
	lines = append(append(lines, ""), r.Tree(screen.Screen{Width: 100}, now, false)...)
	golden.Expect(t, "candidates.golden", strings.Join(lines, "\n")+"\n")
}

// TestWhatACandidateIsCalledIsHarmless although the gate's answer went over a network.
func TestWhatACandidateIsCalledIsHarmless(t *testing.T) {
	g := NewWithT(t)
	e := &rollout.Explanation{Candidates: rollout.Candidates{{
		Revisions: []string{"\x1b[2J"}, Reason: "\x1b[2J", Blocker: "\x1b[2J",
	}}}
	for _, line := range e.Lines(screen.Screen{Width: 100}, now) {
		g.Expect(line).NotTo(ContainSubstring("\x1b"))
	}
	g.Expect(rollout.ParseCandidates([]string{course.CandidateWarning + "[]", "x"})).To(BeEmpty())
}
