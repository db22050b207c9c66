// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// TestTracks has prod of the track "a" wait for dev-a, dev-b and dev, which is in no track.
func TestTracks(t *testing.T) {
	const prod = " > 3:prod"
	for name, tc := range map[string]struct {
		others string
		edit   func(in *policy.Input)
		want   string
	}{
		"one of its own track is sick": {"1:dev-a=Degraded 1:dev-b", nil, "1:dev-a=NotHealthy"},
		"one of another track is sick": {"1:dev-a 1:dev-b=Degraded", nil, ""},
		"one of no track is sick":      {"1:dev-a 1:dev-b 1:dev=Degraded", nil, "1:dev=NotHealthy"},
		"without tracks":               {"1:dev-a 1:dev-b=Degraded", func(in *policy.Input) { in.Settings.Track = "" }, "1:dev-b=NotHealthy"},
		"it is in no track":            {"1:dev-a 1:dev-b=Degraded", func(in *policy.Input) { delete(in.Target.Labels, "app") }, "1:dev-b=NotHealthy"},
		"the write moves it":           {"1:dev-a 1:dev-b=Degraded", func(in *policy.Input) { in.Target.OldLabels["app"] = "b" }, "1:dev-b=NotHealthy"},
		"it has moved a moment ago":    {"1:dev-a 1:dev-b=Degraded", relabelled("prod"), "1:dev-b=NotHealthy"},
		"a sibling has moved away":     {"1:dev-a 1:dev-b=Degraded", relabelled("dev-b"), "1:dev-b=NotHealthy"},
		"one that is recorded is absent": {"1:dev-a", func(in *policy.Input) {
			in.ApplicationSet.Recorded = map[string]policy.Recorded{"dev-c": {Step: 1}}
		}, "1:dev-c=NotGenerated"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := scenario(tc.others + prod)
			in.Settings.Track = "app"
			track := map[string]string{"dev-a": "a", "dev-b": "b"}
			for i, s := range in.Siblings {
				if of := track[s.Name]; of != "" {
					in.Siblings[i].Labels["app"] = of
				}
			}
			in.Target.Labels["app"], in.Target.OldLabels["app"] = "a", "a"
			if tc.edit != nil {
				tc.edit(&in)
				inSteps(&in)
			}
			g.Expect(written(policy.Evaluate(in).Blockers)).To(Equal(tc.want))
		})
	}
}

func relabelled(name string) func(*policy.Input) {
	return func(in *policy.Input) {
		of := in.History.Of
		in.History.Of = func(other string) policy.Past {
			past := of(other)
			past.Relabelled = other == name
			return past
		}
	}
}

// TestFailuresCountWithinATrack has a budget of none.
func TestFailuresCountWithinATrack(t *testing.T) {
	g := NewWithT(t)
	decide := func(track string) policy.Reason {
		in := scenario("1:dev 3:prod-b=Degraded,synced:50 > 3:prod-a")
		in.Settings.Conditions.MaxFailures = &policy.Budget{}
		in.Settings.Track = "app"
		in.Siblings[1].Labels["app"] = "b"
		in.Target.Labels["app"], in.Target.OldLabels["app"] = track, track
		inSteps(&in)
		return policy.Evaluate(in).Reason
	}
	g.Expect(decide("a")).To(Equal(policy.EarlierStepsDone))
	g.Expect(decide("b")).To(Equal(policy.TooManyFailures))
}
