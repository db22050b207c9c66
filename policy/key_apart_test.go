// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// known is a target with what was seen, for TestWhatTellsTargetsApart. Own is the target among its siblings.
type known struct {
	policy.Input
	own  policy.Application
	past map[string]policy.Past
}

// onTheTrain is train, with prod among the siblings, and a third step.
func onTheTrain() *known {
	k := &known{Input: train(), past: map[string]policy.Past{}}
	k.past["dev"] = k.History.Past("dev")
	k.ApplicationSet.Steps = append(k.ApplicationSet.Steps, step("last"))
	k.own = policy.Application{Name: "prod", Labels: k.Target.Labels, Compared: k.Target.Compared, Health: "Healthy"}
	return k
}

// input is the input of it.
func (k *known) input() policy.Input {
	in := k.Input
	own := k.own
	in.Siblings = append(slices.Clone(in.Siblings), in.ApplicationSet.Sibling(&own))
	in.History.Of = func(name string) policy.Past { return k.past[name] }
	return in
}

// TestWhatTellsTargetsApart changes one thing that the rule reads of a target: the answer is another one, and the key.
func TestWhatTellsTargetsApart(t *testing.T) {
	noon := time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC)
	at := func(revision string) []policy.Source { return []policy.Source{{Key: "repo", Revision: revision}} }
	own := func(change func(past *policy.Past)) func(k *known) {
		return func(k *known) {
			past := k.past["prod"]
			change(&past)
			k.past["prod"] = past
		}
	}
	single := func(k *known) { k.Settings.Candidates = false }
	pinned := func(k *known) { single(k); k.Target.Operation.Pinned = true }
	both := func(all ...func(k *known)) func(k *known) {
		return func(k *known) {
			for _, change := range all {
				change(k)
			}
		}
	}
	tracks := func(k *known) {
		single(k)
		k.Settings.Track = "region"
		dev := *k.Siblings[0].Application
		dev.Labels = map[string]string{"env": "dev", "region": "eu"}
		k.Siblings = []policy.Sibling{k.ApplicationSet.Sibling(&dev)}
		k.Target.Labels = map[string]string{"env": "prod", "region": "us"}
		k.Target.OldLabels = k.Target.Labels
	}
	fails := func(k *known) {
		pinned(k)
		k.Settings.Conditions.MaxFailures = &policy.Budget{}
		k.Siblings = []policy.Sibling{k.ApplicationSet.Sibling(&policy.Application{
			Name: "prod-2", Labels: k.Target.Labels, Compared: k.Target.Compared,
			LastFull: policy.FullSync{Phase: "Failed", AtCompared: true},
		})}
	}
	heals := func(k *known) {
		pinned(k)
		k.Target.Operation.Redeploys = true
	}
	approved := func(k *known) {
		dev := *k.Siblings[0].Application
		dev.OperationSet, dev.Health, dev.LastSync.AtCompared = false, "Healthy", true
		k.Siblings = []policy.Sibling{k.ApplicationSet.Sibling(&dev)}
		pinned(k)
		k.Settings.Conditions.Approve.All, k.Settings.Conditions.FourEyes = true, true
		k.Settings.Conditions.Approved = []policy.Approval{{Step: 1, What: "g", By: "alice", At: noon.Add(time.Minute)}}
	}
	restarted := func(k *known) {
		k.Target.Ran = at("x")
		k.past["dev"].Completions[4].From = 7
		k.past["prod"] = policy.Past{Runs: at("x")[0], RunsFrom: 9}
	}
	synced := func(k *known) {
		k.Target.SyncStartedAt, k.Target.SyncFinishedAt = k.Now.Add(-2*time.Second), k.Now.Add(-time.Second)
	}
	for name, tc := range map[string]struct {
		given, change func(k *known)
	}{
		"its track":                 {tracks, func(k *known) { k.Target.Labels = map[string]string{"env": "prod", "region": "eu"} }},
		"its track before":          {tracks, func(k *known) { k.Target.OldLabels = map[string]string{"env": "prod", "region": "eu"} }},
		"it was relabelled":         {tracks, own(func(past *policy.Past) { past.Relabelled = true })},
		"its step":                  {single, func(k *known) { k.Target.Labels = map[string]string{"env": "last"} }},
		"its step before":           {single, func(k *known) { k.Target.OldLabels = map[string]string{"env": "last"} }},
		"the step that it has left": {single, own(func(past *policy.Past) { past.Step = 3 })},
		"it is in a later step by its status": {both(single, func(k *known) { k.Target.Labels, k.Target.OldLabels = nil, nil }),
			func(k *known) { k.ApplicationSet.Recorded = map[string]policy.Recorded{"prod": {Step: 2}} }},
		"what it has run":    {func(k *known) { k.Settings.Conditions.Approve.All = true }, func(k *known) { k.Target.Ran = at("c") }},
		"when it ran that":   {restarted, own(func(past *policy.Past) { past.RunsFrom = 6 })},
		"when it was synced": {func(*known) {}, synced},
		"that its sync was proven": {synced, own(func(past *policy.Past) {
			past.Completions = []policy.Completion{{Sources: at("a")}}
			past.Completions[0].OperatedAt = time.Date(2026, 9, 21, 12, 58, 58, 0, time.UTC)
		})},
		"that it repeats a sync": {both(single, synced, func(k *known) { k.Siblings, k.Target.Ran = nil, at("g") }),
			func(k *known) { k.ApplicationSet.Recorded = map[string]policy.Recorded{"prod": {Started: true}} }},
		"what is around its sources":      {heals, func(k *known) { k.History.Altered = true }},
		"that this is not known":          {both(heals, func(k *known) { k.Settings.Stamped = true }), func(k *known) { k.History.Unproven = true }},
		"that it was seen Synced with it": {pinned, func(k *known) { k.History.Deployed = true }},
		"when its spec has changed": {both(approved, func(k *known) { k.History.Altered = true }),
			func(k *known) { k.History.ContentSince = noon.Add(2 * time.Minute) }},
		"who starts it": {approved, func(k *known) { k.StartedBy = "alice" }},
		"its window":    {approved, func(k *known) { k.Window.Closed, k.Settings.Conditions.Approve.All = true, false }},
		"that it has failed": {fails, func(k *known) {
			k.own.LastFull = policy.FullSync{Phase: "Failed", AtCompared: true}
		}},
		"that it is tried again": {fails, func(k *known) {
			k.own.OperationSet, k.own.LastFull = true, policy.FullSync{Phase: "Failed", AtCompared: true}
		}},
		"at what it has failed": {both(fails, func(k *known) {
			k.own.Health, k.own.LastSync.Other = "Degraded", at("f")
		}), func(k *known) { k.own.LastSync.Other = at("g") }},
		"how it was hydrated": {both(fails, func(k *known) {
			dry := policy.Source{Key: policy.DryPrefix + "repo", Revision: "1"}
			k.Target.Compared, k.Target.Wanted = append(at("g"), dry), append(at("g"), dry)
			k.Siblings[0].Compared = append(at("g"), policy.Source{Key: dry.Key, Revision: "2"})
		}), func(k *known) { k.Target.Hydration = "Hydrating" }},
		"how new a comparison is for it": {pinned, func(k *known) {
			dev := *k.Siblings[0].Application
			dev.OperationSet, dev.Health, dev.Compared = false, "Healthy", at("f")
			k.Siblings = []policy.Sibling{k.ApplicationSet.Sibling(&dev)}
			k.past["dev"] = policy.Past{Freshness: policy.Newest}
		}},
		"how new one is where it deploys an older revision": {both(pinned, func(k *known) {
			dev := *k.Siblings[0].Application
			dev.OperationSet, dev.Health, dev.Compared, dev.LastSync.AtCompared = false, "Healthy", at("f"), true
			k.Siblings = []policy.Sibling{k.ApplicationSet.Sibling(&dev)}
			k.Target.SameSources, k.Target.Wanted = false, at("f")
		}), func(k *known) { k.past["dev"] = policy.Past{Freshness: policy.Newest} }},
		"how new one is for what it may deploy as well": {func(k *known) {
			dev := *k.Siblings[0].Application
			dev.OperationSet, dev.Health, dev.LastSync.AtCompared = false, "Healthy", true
			broken := dev
			broken.Name, broken.Health = "dev-2", "Degraded"
			k.Siblings = []policy.Sibling{k.ApplicationSet.Sibling(&dev), k.ApplicationSet.Sibling(&broken)}
			k.Target.SameSources = false
		}, func(k *known) {
			past := k.past["dev"]
			past.Freshness = policy.Newest
			k.past["dev"] = past
		}},
		"it comes after others": {both(single, func(k *known) { k.Target.Labels, k.Target.OldLabels = map[string]string{"env": "dev"}, nil }),
			func(k *known) { k.Settings.Follows = true }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var answers [2]any
			var keys [2]policy.Key
			for i := range 2 {
				k := onTheTrain()
				if tc.given(k); i == 1 {
					tc.change(k)
				}
				in := k.input()
				keys[i] = policy.NewKeys(in.Siblings).Of(in)
				answers[i] = []any{policy.Evaluate(in), policy.Unmet(in), policy.Candidates(in), policy.Repeated(in)}
			}
			g.Expect(answers[1]).NotTo(Equal(answers[0]), "the answer does not depend on it")
			g.Expect(keys[1]).NotTo(Equal(keys[0]))
		})
	}
}
