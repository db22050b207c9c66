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

// Evidence generates random histories in which steps wait for evidence: those of Conditions and of Trains, with objects
// that speak of what commits bring, some time after each, of what was before it, and that change what they say or go
// away. At the end of most, somebody tests what has no evidence.
func Evidence(version string) *rapid.Generator[*simulation.Scenario] {
	return acted(ofEvidence(version))
}

func ofEvidence(version string) *rapid.Generator[*simulation.Scenario] {
	conditions, trains := ofConditions(version), ofTrains(version)
	return rapid.Custom(func(t *rapid.T) *simulation.Scenario {
		var s *simulation.Scenario
		if rapid.Bool().Draw(t, "a train") {
			s = trains.Draw(t, "train")
		} else {
			s = conditions.Draw(t, "history")
		}
		if pick(t, "evidence alone", false, false, true) {
			s.Events = slices.DeleteFunc(s.Events, func(e simulation.Event) bool {
				return strings.HasPrefix(e.Do, "annotate ")
			})
		}
		e := testifying{t: t, s: s}
		verify := e.annotation()
		e.named = strings.Contains(verify, "/")
		e.add(0, "annotate verify "+verify)
		if pick(t, "runs", false, false, true) {
			e.add(0, fmt.Sprintf("runs %s %s", e.answer(), e.delay()))
		}
		at := time.Duration(0)
		for _, event := range s.Events {
			at += event.After
			if words := strings.Fields(event.Do); words[0] == "commit" {
				e.after(at, words[1])
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "more evidence") {
			moment := time.Duration(rapid.IntRange(0, int(at/time.Second)).Draw(t, "moment")) * time.Second
			switch pick(t, "more", "restart", "lag", "annotation", "evidence") {
			case "restart":
				e.add(moment, "restart stepgate")
			case "lag":
				e.add(moment, "slow watch evidence "+e.delay().String())
			case "annotation":
				e.add(moment, strings.TrimSpace("annotate verify "+pick(t, "verify", "", verify, e.annotation())))
			default:
				e.after(moment, branches(s)[0])
			}
		}
		if pick(t, "all is tested", true, true, true, false) {
			e.add(at+e.delay(), fmt.Sprintf("tester 1 %s %s", pick(t, "says", "yes", "yes", "yes", "no"), e.delay()))
		}
		e.merge()
		return s
	})
}

// testifying draws what objects say.
type testifying struct {
	t *rapid.T
	s *simulation.Scenario
	// named says that a step waits for an object with a name.
	named bool
	// all are events at their moments.
	all []simulation.Event
	// objects counts them.
	objects int
}

func (e *testifying) add(at time.Duration, do string) {
	e.all = append(e.all, simulation.Event{After: at, Do: do})
}

// annotation draws a text for verify. Some cannot be read, or name what nobody reads.
func (e *testifying) annotation() string {
	return pick(e.t, "verify", "3=jobs.batch?suite=smoke", "3=jobs.batch?suite=smoke", "2=jobs.batch?suite=smoke",
		"2=jobs.batch?suite=smoke;3=jobs.batch?suite=smoke", "3=jobs.batch/smoke",
		"2=jobs.batch/smoke;3=jobs.batch?suite=smoke",
		"3=jobs.batch?suite=smoke if object.status.succeeded > 0",
		"3=analysisruns.argoproj.io?suite=run create=smoke", "3=analysisruns.argoproj.io?suite=run create=smoke",
		"2=analysisruns.argoproj.io?suite=run create=smoke;3=jobs.batch?suite=smoke",
		"3=jobs.batch?suite=smoke;3=analysisruns.argoproj.io?suite=run create=smoke",
		"1=jobs.batch?suite=smoke", "3=configmaps?suite=smoke", "soon")
}

func (e *testifying) answer() string {
	return pick(e.t, "says", "yes", "yes", "yes", "yes", "no", "nothing", "leaving")
}

func (e *testifying) delay() time.Duration {
	return pick(e.t, "later by", 100*time.Millisecond, time.Second, 5*time.Second, 20*time.Second, time.Minute)
}

// after draws what objects say of a commit to a branch, or of what Argo CD compares an Application with: that is what
// a label can stand for where there are several sources.
func (e *testifying) after(at time.Duration, branch string) {
	if pick(e.t, "tested", true, true, true, false) {
		at += e.delay()
		name := e.object()
		e.add(at, fmt.Sprintf("evidence %s %s %s", name, e.answer(), e.of(branch)))
		for range pick(e.t, "changes", 0, 0, 1, 2) {
			at += e.delay()
			if pick(e.t, "goes", false, false, true) {
				e.add(at, "evidence "+name+" gone")
				continue
			}
			e.add(at, fmt.Sprintf("evidence %s %s %s", name, e.answer(), e.of(branch)))
		}
	}
}

func (e *testifying) object() string {
	if e.named && rapid.Bool().Draw(e.t, "of the name") {
		return "smoke"
	}
	e.objects++
	return fmt.Sprintf("%s-%d", pick(e.t, "kind", "smoke", "smoke", "smoke", "run", "other"), e.objects)
}

func (e *testifying) of(branch string) string {
	if e.s.Layout == "values" || e.s.Layout == "hydrated" || pick(e.t, "of an Application", false, false, false, true) {
		return e.s.Applications[rapid.IntRange(0, len(e.s.Applications)-1).Draw(e.t, "of")].Name
	}
	return branch + pick(e.t, "which", "", "", "", "", "~1", "~2")
}

// merge puts the events among those of the history.
func (e *testifying) merge() {
	at := time.Duration(0)
	var events []simulation.Event
	for _, event := range e.s.Events {
		at += event.After
		events = append(events, simulation.Event{After: at, Do: event.Do})
	}
	events = append(events, e.all...)
	slices.SortStableFunc(events, func(a, b simulation.Event) int { return int(a.After - b.After) })
	last := time.Duration(0)
	for i := range events {
		last, events[i].After = events[i].After, events[i].After-last
	}
	e.s.Events = events
}
