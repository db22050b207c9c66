// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// train is dev in step 1, which has completed a to e, one every 10 minutes, is Healthy at f, and syncs g; and prod in
// step 2, which runs a and is compared with g. It is 12:59.
func train() policy.Input {
	start := time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC)
	at := func(revision string) []policy.Source { return []policy.Source{{Key: "repo", Revision: revision}} }
	labels := func(env string) map[string]string { return map[string]string{"env": env} }
	past := policy.Past{}
	var ran []policy.Source
	for i, r := range strings.Split("abcdef", "") {
		past.Completions = append(past.Completions, policy.Completion{
			Sources: at(r), Since: start.Add(time.Duration(i) * 10 * time.Minute), By: "alice",
			OperatedAt: start.Add(time.Duration(i) * 10 * time.Minute),
		})
		ran = append(ran, at(r)...)
	}
	set := &policy.ApplicationSet{RollingSync: true, Namespace: "argocd", Name: "guestbook", Steps: []policy.Step{
		step("dev"), step("prod"),
	}}
	dev := policy.Application{
		Name: "dev", Labels: labels("dev"), Health: "Progressing", SyncStatus: "Synced", SpecCompared: true, Compared: at("g"),
		ReconciledAt: start.Add(55 * time.Minute), OperationSet: true, Ran: ran,
		LastSync: policy.LastSync{SameSources: true, Since: start.Add(50 * time.Minute), FinishedAt: start.Add(50 * time.Minute)},
	}
	return policy.Input{
		Target: policy.Target{
			Name: "prod", Labels: labels("prod"), OldLabels: labels("prod"), Managed: true, SpecCompared: true,
			ReconciledAt: start.Add(55 * time.Minute), Compared: at("g"), Wanted: at("g"), Ran: at("a"), SameSources: true,
			Operation: policy.Operation{Written: true, Automated: true},
		},
		ApplicationSet: set, Siblings: []policy.Sibling{set.Sibling(&dev)}, Now: start.Add(59 * time.Minute),
		Settings: policy.Settings{Require: policy.RequireRevision, Candidates: true, Settling: -1},
		History:  policy.History{Of: func(string) policy.Past { return past }},
	}
}

func TestTheNewestQualifiedCandidateIsTheBest(t *testing.T) {
	noon := time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC)
	soak := policy.Soak{Every: 25 * time.Minute}
	approved := func(what string) policy.Conditions {
		return policy.Conditions{
			Approve: policy.Steps{All: true}, Approved: []policy.Approval{{Step: 1, What: what, By: "alice"}},
		}
	}
	for name, tc := range map[string]struct {
		change func(in *policy.Input, dev *policy.Application, past *policy.Past)
		prod   policy.Past
		want   string // the revision and what is said of it
		at     time.Duration
	}{
		"it has gone on": {nil, policy.Past{}, "f EarlierStepsDone", 0},
		"only the compared one": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Settings.Candidates = false
		}, policy.Past{}, "g OperationInProgress", 0},
		"a soak time": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Settings.Conditions.Soak = soak
		}, policy.Past{}, "d EarlierStepsDone", 65*time.Minute + time.Second},
		"nothing has soaked": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Settings.Conditions.Soak.Every = time.Hour
		}, policy.Past{}, "b Soaking", 70*time.Minute + time.Second},
		"it was broken meanwhile": {func(in *policy.Input, _ *policy.Application, past *policy.Past) {
			in.Settings.Conditions.Soak, past.Broken = soak, noon.Add(45*time.Minute)
		}, policy.Past{}, "e Soaking", 70*time.Minute + time.Second},
		"an operation that nobody has seen may take it back": {func(_ *policy.Input, _ *policy.Application, past *policy.Past) {
			past.Idle = true
		}, policy.Past{}, "g OperationInProgress", 0},
		"an operation that nobody has seen may have taken it back": {
			func(_ *policy.Input, dev *policy.Application, past *policy.Past) {
				dev.OperationSet, past.Idle, past.OperatedAt = false, true, noon
				dev.LastOperation = policy.LastOperation{Phase: "Succeeded", StartedAt: noon.Add(50 * time.Minute)}
			}, policy.Past{}, "g NotHealthy", 0,
		},
		"it is broken": {func(_ *policy.Input, dev *policy.Application, _ *policy.Past) {
			dev.Health = "Degraded"
		}, policy.Past{}, "g OperationInProgress", 0},
		"it has failed": {func(_ *policy.Input, dev *policy.Application, _ *policy.Past) {
			dev.SyncStatus, dev.OperationSet = "OutOfSync", false
			dev.LastFull = policy.FullSync{Phase: "Failed"}
		}, policy.Past{}, "g NotHealthy", 0},
		"an older one is approved": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Settings.Conditions = approved("c")
		}, policy.Past{}, "c EarlierStepsDone", 0},
		"the approved one has been passed": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Settings.Conditions = approved("a")
		}, policy.Past{}, "f NotApproved", 0},
		"nobody approves what they have started": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Settings.Conditions = approved("c")
			in.Settings.Conditions.FourEyes = true
		}, policy.Past{}, "f NotApproved", 0},
		"the newest has failed in this step": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Settings.Conditions.MaxFailures = &policy.Budget{}
			in.Siblings = append(in.Siblings, in.ApplicationSet.Sibling(&policy.Application{
				Name: "prod-2", Labels: in.Target.Labels, Health: "Degraded", Compared: in.Target.Compared,
				LastSync: policy.LastSync{SameSources: true, Other: []policy.Source{{Key: "repo", Revision: "f"}}},
			}))
		}, policy.Past{}, "f TooManyFailures", 0},
		"what prod runs is not known there": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Target.Ran = []policy.Source{{Key: "repo", Revision: "x"}}
		}, policy.Past{}, "g OperationInProgress", 0},
		"prod runs the newest": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Target.Ran = []policy.Source{{Key: "repo", Revision: "f"}}
		}, policy.Past{}, "g OperationInProgress", 0},
		"a clock has gone back": {func(_ *policy.Input, _ *policy.Application, past *policy.Past) {
			past.Completions[5].Since = noon
			past.Completions = past.Completions[:5]
			past.Completions[4].Since = noon.Add(-time.Hour)
		}, policy.Past{}, "e EarlierStepsDone", 0},
		"its destination is new, and dev has deployed since": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.History.Altered, in.History.ContentSince = true, noon.Add(45*time.Minute)
		}, policy.Past{}, "f EarlierStepsDone", 0},
		"dev has deployed before": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.History.Altered, in.History.ContentSince = true, noon.Add(50*time.Minute)
		}, policy.Past{}, "g OperationInProgress", 0},
		"dev has deployed with the old one": {func(in *policy.Input, _ *policy.Application, past *policy.Past) {
			in.History.Altered, in.History.ContentSince = true, noon.Add(45*time.Minute)
			past.Completions[5].Altered = true
		}, policy.Past{}, "g OperationInProgress", 0},
		"nobody knows since when it is new": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.History.Altered = true
		}, policy.Past{}, "g OperationInProgress", 0},
		"dev was done with it when its destination was new": {func(in *policy.Input, _ *policy.Application, past *policy.Past) {
			in.Settings.Settling = time.Minute
			in.History.Altered, in.History.ContentSince = true, noon.Add(50*time.Minute)
			past.Completions[5].Seen = noon.Add(52 * time.Minute)
		}, policy.Past{}, "f EarlierStepsDone", 0},
		"the controller may have written its spec since": {func(in *policy.Input, _ *policy.Application, past *policy.Past) {
			in.Settings.Settling = time.Minute
			in.History.Altered, in.History.ContentSince = true, noon.Add(50*time.Minute)
			past.Completions[5].Seen = noon.Add(51 * time.Minute)
		}, policy.Past{}, "g OperationInProgress", 0},
		"it has written its spec since": {func(in *policy.Input, dev *policy.Application, past *policy.Past) {
			dev.SpecCompared = false
			in.History.Altered, in.History.ContentSince = true, noon.Add(50*time.Minute)
			past.Completions[5].Seen = noon.Add(52 * time.Minute)
		}, policy.Past{}, "g OperationInProgress", 0},
		"another one knows what prod runs": {func(in *policy.Input, _ *policy.Application, _ *policy.Past) {
			in.Target.Ran = []policy.Source{{Key: "repo", Revision: "x"}}
			other := *in.Siblings[0].Application
			other.Name = "dev-2"
			other.Ran = append([]policy.Source{{Key: "repo", Revision: "x"}}, other.Ran...)
			in.Siblings = append(in.Siblings, in.ApplicationSet.Sibling(&other))
		}, policy.Past{}, "f EarlierStepsDone", 0},
		"dev was first compared with it since prod was seen to run that": {func(in *policy.Input, _ *policy.Application, past *policy.Past) {
			in.Target.Ran = []policy.Source{{Key: "repo", Revision: "x"}}
			past.Completions[4].From = 7
		}, policy.Past{Runs: policy.Source{Key: "repo", Revision: "x"}, RunsFrom: 6}, "e EarlierStepsDone", 0},
		"dev was first compared with it before": {func(in *policy.Input, _ *policy.Application, past *policy.Past) {
			in.Target.Ran = []policy.Source{{Key: "repo", Revision: "x"}}
			past.Completions[4].From = 5
		}, policy.Past{Runs: policy.Source{Key: "repo", Revision: "x"}, RunsFrom: 6}, "g OperationInProgress", 0},
		"the watch has not seen what prod runs": {func(in *policy.Input, _ *policy.Application, past *policy.Past) {
			in.Target.Ran = []policy.Source{{Key: "repo", Revision: "x"}}
			past.Completions[4].From = 7
		}, policy.Past{Runs: policy.Source{Key: "repo", Revision: "w"}, RunsFrom: 6}, "g OperationInProgress", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := train()
			dev, past := *in.Siblings[0].Application, in.History.Of("dev")
			past.Completions = slices.Clone(past.Completions)
			in.Siblings[0].Application = &dev
			if tc.change != nil {
				tc.change(&in, &dev, &past)
			}
			in.History.Of = func(name string) policy.Past {
				if name == "prod" {
					return tc.prod
				}
				return past
			}
			best, at := policy.Best(policy.Candidates(in))
			g.Expect(best.Revisions()[0] + " " + string(best.Reason)).To(Equal(tc.want))
			if tc.at > 0 {
				g.Expect(at).To(Equal(noon.Add(tc.at)))
			} else {
				g.Expect(at).To(BeZero())
			}
		})
	}
}

func step(env string) policy.Step {
	return policy.Step{{Key: "env", Operator: "In", Values: []string{env}}}
}
