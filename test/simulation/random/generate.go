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

// Histories generates random histories of one version of Argo CD, or of "all". A seed gives the same history for ever,
// as far as neither this file nor rapid changes; what has to be kept for longer is kept as text.
func Histories(version string) *rapid.Generator[*simulation.Scenario] {
	return acted(ofHistories(version))
}

func ofHistories(version string) *rapid.Generator[*simulation.Scenario] {
	return rapid.Custom(func(t *rapid.T) *simulation.Scenario {
		s := &simulation.Scenario{
			Version: versionOf(t, version),
			Layout:  pick(t, "layout", "shared", "shared", "shared", "own", "branches", "values", "hydrated"),
			Poll:    pick(t, "poll", 0, 180*time.Second, 180*time.Second),
			Requeue: pick(t, "requeue", 0, 0, 180*time.Second),
			// Most findings need no second replica.
			Replicas:     pick(t, "replicas", 1, 1, 1, 2),
			RetryRefresh: pick(t, "retry refresh", false, false, false, false, true),
			Pin:          pick(t, "pin", "", "", "", "", "", "candidate"),
			Refuses:      pick(t, "refuses", false, false, false, false, false, false, false, false, false, true),
			Jitter:       uint32(pick(t, "jitter", 0, 1) * rapid.IntRange(0, 1000).Draw(t, "kind of jitter")),
		}
		s.NoGrace = noGrace(t, s.Version)
		s.Applications = []simulation.Application{{Name: "dev", Step: 1}, {Name: "qa", Step: 2}, {Name: "prod", Step: 3}}
		if rapid.Bool().Draw(t, "a fourth") {
			s.Applications = append(s.Applications, simulation.Application{
				Name: pick(t, "name", "east", "west"), Step: rapid.IntRange(1, 3).Draw(t, "step"),
			})
		}
		if pick(t, "skew", false, false, false, true) {
			s.Applications[rapid.IntRange(0, 2).Draw(t, "whose clock")].Skew = pick(t, "ahead by", time.Second, 2*time.Second,
				-time.Second, 3*time.Second, -3*time.Second, 30*time.Second, -30*time.Second)
		}
		if pick(t, "large", false, false, true) {
			s.Applications[rapid.IntRange(0, 2).Draw(t, "which is large")].Compares = pick(t, "compares in",
				500*time.Millisecond, 3*time.Second, 10*time.Second)
		}
		// Half of what happens, happens to one of them: most findings are several things that happen to the same
		// Application.
		focus := s.Applications[rapid.IntRange(0, len(s.Applications)-1).Draw(t, "focus")].Name
		// Drawn as a slice, for rapid to leave events out when it shrinks.
		event := rapid.Custom(func(t *rapid.T) simulation.Event {
			d := drawing{t, s, focus}
			return simulation.Event{After: d.gap(), Do: d.event()}
		})
		s.Events = rapid.SliceOfN(event, 1, 10).Draw(t, "events")
		return s
	})
}

// versionOf draws a version where all are wanted.
func versionOf(t *rapid.T, version string) string {
	if version == "all" {
		return pick(t, "version", "3.5", "3.5", "3.6", "3.2")
	}
	return version
}

// noGrace draws whether the ApplicationSet controller has no grace period. Only the controller of 3.6 has one: the
// histories of the others are drawn as ever.
func noGrace(t *rapid.T, version string) bool {
	return version == "3.6" && rapid.Bool().Draw(t, "no grace")
}

// pick draws one of some values; to shrink is to come to the first.
func pick[V any](t *rapid.T, label string, of ...V) V {
	return of[rapid.IntRange(0, len(of)-1).Draw(t, label)]
}

// drawing draws the events of a scenario.
type drawing struct {
	t     *rapid.T
	s     *simulation.Scenario
	focus string
}

func (d drawing) gap() time.Duration {
	return pick(d.t, "gap", 0, 20*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond,
		500*time.Millisecond,
		time.Second, 2*time.Second, 5*time.Second, 30*time.Second, 200*time.Second)
}

// event draws one event. The list names the verbs as often as they are to be drawn, the simple ones first.
func (d drawing) event() string {
	verb := pick(d.t, "verb", "refresh", "refresh", "refresh", "commit", "commit", "commit", "commit", "sync", "sync",
		"githook", "githook",
		"values", "values", "drift", "drift", "revert", "revert", "label", "parameter", "parameter", "destination",
		"rollback", "try", "merge", "slow compare", "slow sync",
		"slow cluster", "slow watch", "failing", "crash", "recover", "add", "remove", "window", "hydration", "restart",
		"outage",
		"around", "slow write", "slow write", "invalid", "valid", "relabel", "leftover", "local", "foreign", "image",
		"recreate", "dryrun", "dryrun", "part")
	switch verb {
	case "commit":
		return strings.TrimSpace(fmt.Sprintf("commit %s %s %s", d.branch(), d.touched(),
			pick(d.t, "effect", "", "", "", "", "slow", "bad", "fails", "hook")))
	case "revert", "merge", "githook":
		return verb + " " + d.branch()
	case "values", "destination", "around", "recreate":
		return verb
	case "relabel":
		return fmt.Sprintf("relabel %s %d", d.app(), rapid.IntRange(1, 4).Draw(d.t, "step"))
	case "slow write":
		return fmt.Sprintf("slow write %s %s", d.app(),
			pick(d.t, "takes", 500*time.Millisecond, time.Second, 3*time.Second, 5*time.Second, 8*time.Second))
	case "label":
		return fmt.Sprintf("label %s %d", d.app(), rapid.IntRange(1, 3).Draw(d.t, "step"))
	case "add":
		return fmt.Sprintf("add %s %d", pick(d.t, "new", "anew", "new"), rapid.IntRange(1, 3).Draw(d.t, "step"))
	case "try":
		return "try " + d.s.Applications[0].Name
	case "failing":
		return fmt.Sprintf("failing %s %d", d.app(), rapid.IntRange(1, 7).Draw(d.t, "times"))
	case "window":
		return fmt.Sprintf("window %s %s", d.app(), d.long())
	case "slow compare", "slow sync":
		return fmt.Sprintf("%s %s %s", verb, d.app(), d.long())
	case "slow cluster":
		return fmt.Sprintf("slow cluster %s %s", d.app(),
			pick(d.t, "seen after", 300*time.Millisecond, time.Second, 3*time.Second))
	case "slow watch":
		return fmt.Sprintf("slow watch %s %s", pick(d.t, "who", "applicationset", "application", "stepgate"), d.long())
	case "hydration":
		return fmt.Sprintf("hydration %s %s", d.app(), pick(d.t, "hydrator", "fails", "works"))
	case "outage":
		return "outage " + d.long().String()
	case "restart":
		return "restart " + pick(d.t, "who", "stepgate", "application", "applicationset")
	}
	return verb + " " + d.app()
}

func (d drawing) long() time.Duration {
	return pick(d.t, "long", 500*time.Millisecond, time.Second, 3*time.Second, 10*time.Second, 60*time.Second)
}

func (d drawing) app() string {
	if rapid.Bool().Draw(d.t, "the focus") {
		return d.focus
	}
	return d.s.Applications[rapid.IntRange(0, len(d.s.Applications)-1).Draw(d.t, "app")].Name
}

func (d drawing) touched() string {
	who := pick(d.t, "touches", "all", "all", "all", "one", "none")
	if who == "one" {
		return d.app()
	}
	return who
}

// branch draws one that the layout has.
func (d drawing) branch() string {
	names := branches(d.s)
	if slices.Contains(names, d.focus) && rapid.Bool().Draw(d.t, "of the focus") {
		return d.focus
	}
	return names[rapid.IntRange(0, len(names)-1).Draw(d.t, "branch")]
}

// branches are those that the layout has.
func branches(s *simulation.Scenario) []string {
	var names []string
	switch s.Layout {
	case "own", "values":
		for _, a := range s.Applications {
			names = append(names, a.Name)
		}
		if s.Layout == "values" {
			names = append(names, "values")
		}
	case "branches":
		for _, a := range s.Applications {
			if name := fmt.Sprint("step", a.Step); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	default:
		names = []string{"app"}
	}
	return names
}
