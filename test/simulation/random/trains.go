// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// trackLabel is the label of the tracks of a simulation.
const trackLabel = "track"

// Trains generates random histories in which commits land faster than rollouts complete, and stepgate starts what is due:
// commits at one distance, some of them bad, soak times, approvals and maxUpdate, and in between replicas that end,
// slow watches, and all that Conditions has.
func Trains(version string) *rapid.Generator[*simulation.Scenario] {
	return acted(ofTrains(version))
}

func ofTrains(version string) *rapid.Generator[*simulation.Scenario] {
	return rapid.Custom(func(t *rapid.T) *simulation.Scenario {
		s := &simulation.Scenario{
			Version: versionOf(t, version), Start: true,
			Layout:   pick(t, "layout", "shared", "shared", "shared", "shared", "own", "values", "hydrated"),
			Poll:     pick(t, "poll", 180*time.Second, 180*time.Second, 0),
			Replicas: pick(t, "replicas", 1, 2, 2),
			Pin:      pick(t, "pin", "candidate", "candidate", "candidate", ""),
			Jitter:   uint32(pick(t, "jitter", 0, 0, 1) * rapid.IntRange(0, 1000).Draw(t, "kind of jitter")),
		}
		s.NoGrace = noGrace(t, s.Version)
		s.Applications = []simulation.Application{{Name: "dev", Step: 1}, {Name: "qa", Step: 2}, {Name: "prod", Step: 3}}
		for i, name := range []string{"east", "west"}[:rapid.IntRange(0, 2).Draw(t, "more")] {
			s.Applications = append(s.Applications, simulation.Application{Name: name, Step: 3 - i%2})
		}
		if rapid.Bool().Draw(t, "maxUpdate") {
			s.Steps = make([]simulation.Step, 3)
			limit := intstr.FromInt32(pick[int32](t, "at a time", 1, 2, 0))
			s.Steps[rapid.IntRange(1, 2).Draw(t, "of step")].MaxUpdate = &limit
		}
		if pick(t, "skew", false, false, false, true) {
			s.Applications[rapid.IntRange(0, 2).Draw(t, "whose clock")].Skew = pick(t, "ahead by", 3*time.Second,
				-3*time.Second, 30*time.Second)
		}
		focus := s.Applications[rapid.IntRange(0, len(s.Applications)-1).Draw(t, "focus")].Name
		d := conditional{drawing: drawing{t, s, focus}}
		for _, kind := range []string{"soak", "approve", "max-failures"} {
			if rapid.Bool().Draw(t, kind) && (kind != "approve" || s.Layout != "hydrated") {
				d.kinds = append(d.kinds, kind)
				text := "20s"
				if kind != "soak" {
					text = map[string]string{"approve": "3", "max-failures": "0"}[kind]
				}
				s.Events = append(s.Events, simulation.Event{Do: "annotate " + kind + " " + text})
			}
		}
		if slices.Contains(d.kinds, "approve") {
			s.Events = append(s.Events, simulation.Event{Do: "approver alice"})
		}
		every := pick(t, "a commit every", 6*time.Second, 15*time.Second, 45*time.Second)
		for range rapid.IntRange(2, 7).Draw(t, "commits") {
			b := d.branch()
			touches := pick(t, "touches", "all", "all", "all", "none")
			effect := pick(t, "effect", "", "", "", "", "slow", "bad", "fails")
			s.Events = append(s.Events,
				simulation.Event{After: every, Do: strings.TrimSpace(fmt.Sprintf("commit %s %s %s", b, touches, effect))},
				simulation.Event{Do: "githook " + b})
			if pick(t, "more happens", false, false, true) {
				s.Events = append(s.Events, simulation.Event{After: d.gap(), Do: d.event()})
			}
		}
		if pick(t, "tracks", false, false, false, true) {
			for i := range s.Applications {
				s.Applications[i].Track = pick(t, "track", "a", "b", "")
			}
			s.Events = append([]simulation.Event{{Do: "annotate track " + trackLabel}}, s.Events...)
		}
		return s
	})
}
