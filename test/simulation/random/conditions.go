// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// Conditions generates random histories in which the steps wait for more than the order: pauses, soak times, approvals,
// budgets of failures and sync windows. At the end of most, nothing is paused, and somebody approves what waits. They
// are a kind of their own: Histories stays as it was.
func Conditions(version string) *rapid.Generator[*simulation.Scenario] {
	return acted(ofConditions(version))
}

func ofConditions(version string) *rapid.Generator[*simulation.Scenario] {
	return rapid.Custom(func(t *rapid.T) *simulation.Scenario {
		s := &simulation.Scenario{
			Version:  versionOf(t, version),
			Layout:   pick(t, "layout", "shared", "shared", "shared", "own", "branches", "values", "hydrated"),
			Poll:     pick(t, "poll", 180*time.Second, 180*time.Second, 0),
			Requeue:  pick(t, "requeue", 0, 0, 180*time.Second),
			Replicas: pick(t, "replicas", 1, 2),
			Pin:      pick(t, "pin", "", "", "", "", "candidate", "candidate"),
			FourEyes: pick(t, "four eyes", false, false, true),
			Jitter:   uint32(pick(t, "jitter", 0, 0, 1) * rapid.IntRange(0, 1000).Draw(t, "kind of jitter")),
		}
		s.NoGrace = noGrace(t, s.Version)
		s.Applications = []simulation.Application{{Name: "dev", Step: 1}, {Name: "qa", Step: 2}, {Name: "prod", Step: 3}}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"east", "west", "north", "south"}), 0, 4).Draw(t,
			"more") {
			if !slices.ContainsFunc(s.Applications, func(a simulation.Application) bool { return a.Name == name }) {
				s.Applications = append(s.Applications, simulation.Application{Name: name, Step: pick(t, "step", 2, 2, 3, 1)})
			}
		}
		if pick(t, "skew", false, false, false, true) {
			s.Applications[rapid.IntRange(0, 2).Draw(t, "whose clock")].Skew = pick(t, "ahead by", time.Second, -time.Second,
				3*time.Second, -3*time.Second)
		}
		focus := s.Applications[rapid.IntRange(0, len(s.Applications)-1).Draw(t, "focus")].Name
		d := conditional{drawing: drawing{t, s, focus}}
		for _, kind := range []string{"soak", "pause", "approve", "max-failures"} {
			// see testdata/hydrated-approval.txt
			if rapid.Bool().Draw(t, kind) && (kind != "approve" || s.Layout != "hydrated") {
				d.kinds = append(d.kinds, kind)
				s.Events = append(s.Events, simulation.Event{Do: d.annotation(kind)})
			}
		}
		// Most begin with a commit: without one, nothing waits.
		for range rapid.IntRange(0, 2).Draw(t, "commits") {
			b := d.branch()
			s.Events = append(s.Events, simulation.Event{
				After: d.gap(), Do: "commit " + b + " all" + pick(t, "effect", "", " slow"),
			}, simulation.Event{Do: "githook " + b})
			if s.FourEyes && rapid.Bool().Draw(t, "by hand") {
				s.Events = append(s.Events, simulation.Event{After: d.gap(), Do: "sync dev"},
					simulation.Event{After: d.gap(), Do: "approval qa admin"})
			}
		}
		event := rapid.Custom(func(t *rapid.T) simulation.Event {
			d := d
			d.t = t
			return simulation.Event{After: d.gap(), Do: d.event()}
		})
		s.Events = append(s.Events, rapid.SliceOfN(event, 1, 12).Draw(t, "events")...)
		if pick(t, "ends well", true, true, true, false) {
			s.Events = append(s.Events, simulation.Event{After: d.gap(), Do: "annotate pause"},
				simulation.Event{After: d.gap(), Do: "approver alice"})
		}
		return s
	})
}

// conditional draws the events of a history with conditions.
type conditional struct {
	drawing
	kinds []string
}

func (d conditional) gap() time.Duration {
	if rapid.Bool().Draw(d.t, "an odd gap") {
		return pick(d.t, "gap", 10*time.Second, 20*time.Second, 21*time.Second, time.Minute) +
			time.Duration(rapid.IntRange(0, 999).Draw(d.t, "odd"))*time.Millisecond
	}
	return d.drawing.gap()
}

func (d conditional) event() string {
	if !rapid.Bool().Draw(d.t, "of a condition") {
		return d.drawing.event()
	}
	kind := pick(d.t, "kind", append([]string{
		"sync", "restart due", "restart stepgate", "commit", "closes", "crash", "recover",
	}, d.kinds...)...)
	switch kind {
	case "sync", "crash", "recover":
		return kind + " " + d.app()
	case "commit":
		return strings.TrimSpace(fmt.Sprintf("commit %s all %s", d.branch(), pick(d.t, "effect", "", "slow", "bad", "fails")))
	case "restart due", "restart stepgate":
		return kind
	case "closes":
		return fmt.Sprintf("closes %s %s", d.app(), d.long())
	case "approve":
		if verb := pick(d.t, "how", "approval", "approval", "approval", "annotate", "approver"); verb == "approval" {
			return strings.TrimSpace(fmt.Sprintf("approval %s %s %s", d.app(), pick(d.t, "who", "alice", "admin"),
				pick(d.t, "which", "", "", "before")))
		} else if verb == "approver" {
			return "approver alice"
		}
	case "pause", "soak", "max-failures":
		if pick(d.t, "bypassed", false, false, false, false, false, false, true) {
			return "bypass " + d.long().String()
		}
		if rapid.Bool().Draw(d.t, "taken back") {
			return "annotate " + kind
		}
	}
	return d.annotation(kind)
}

// annotation draws a text for an annotation. Some cannot be read.
func (d conditional) annotation(kind string) string {
	texts := map[string][]string{
		"soak":         {"20s", "2=10s,3=1m", "3=30s", "2=1500ms", "100s", "soon"},
		"pause":        {"2", "3: INC-1", "all", "1", "2,3", "4"},
		"approve":      {"3", "2", "all", "2,3", "none"},
		"max-failures": {"0", "1", "50%", "34%", "few"},
	}[kind]
	return "annotate " + kind + " " + pick(d.t, kind, texts...)
}
