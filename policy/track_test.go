// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
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

// TestWhatComesAfterWaitsForItsTrack has prod of the track "a" come after infra, which has net-a, net-b and net.
func TestWhatComesAfterWaitsForItsTrack(t *testing.T) {
	for name, tc := range map[string]struct {
		members string
		edit    func(in *policy.Input, infra *policy.Dependency)
		want    string
	}{
		"one of its own track is sick":   {"1:net-a=Degraded 1:net-b", nil, "net-a NotHealthy"},
		"one of another track is sick":   {"1:net-a 1:net-b=Degraded", nil, ""},
		"one of no track is sick":        {"1:net-a 1:net=Degraded", nil, "net NotHealthy"},
		"there is none of its own track": {"1:net-b", nil, "infra DependencyNotFound: has no Application yet with app=a"},
		"all are of no track":            {"1:net", nil, ""},
		"without tracks": {"1:net-a 1:net-b=Degraded", func(in *policy.Input, _ *policy.Dependency) {
			in.Settings.Track = ""
		}, "net-b NotHealthy"},
		"it is in no track": {"1:net-a 1:net-b=Degraded", func(in *policy.Input, _ *policy.Dependency) {
			delete(in.Target.Labels, "app")
		}, "net-b NotHealthy"},
		"the write moves it": {"1:net-a 1:net-b=Degraded", func(in *policy.Input, _ *policy.Dependency) {
			in.Target.OldLabels["app"] = "b"
		}, "net-b NotHealthy"},
		"it has moved a moment ago": {"1:net-a 1:net-b=Degraded", func(in *policy.Input, _ *policy.Dependency) {
			relabelled("prod")(in)
		}, "net-b NotHealthy"},
		"one of them has moved away": {"1:net-a 1:net-b=Degraded", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Past = func(a *policy.Application) policy.Past {
				return policy.Past{Freshness: policy.Fresh, Relabelled: a.Name == "net-b"}
			}
		}, "net-b NotHealthy"},
		"one that is recorded is absent": {"1:net-a", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Set.Recorded = map[string]policy.Recorded{"net-c": {Step: 1}}
		}, "net-c NotGenerated: it does not exist yet"},
		"it is named itself, in another track": {"1:net-a 1:net-b=Degraded", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Own = infra.Members[1]
		}, "net-b NotHealthy"},
	} {
		t.Run(name, func(t *testing.T) {
			row := afterRow{members: tc.members, edit: func(in *policy.Input, infra *policy.Dependency) {
				for of, a := range map[string]string{"net-a": "a", "net-b": "b"} {
					for _, member := range infra.Members {
						if member.Name == of {
							member.Labels = map[string]string{"app": a}
						}
					}
				}
				in.Settings.Track = "app"
				in.Target.Labels["app"], in.Target.OldLabels["app"] = "a", "a"
				if tc.edit != nil {
					tc.edit(in, infra)
				}
			}}
			var told []string
			for _, b := range row.decide().Blockers {
				text := b.Application + " " + string(b.Reason)
				if b.Reason == policy.NotGenerated || b.Reason == policy.DependencyNotFound {
					text += ": " + b.Detail
				}
				told = append(told, text)
			}
			NewWithT(t).Expect(strings.Join(told, ", ")).To(Equal(tc.want))
		})
	}
}
