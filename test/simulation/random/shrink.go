// SPDX-License-Identifier: Apache-2.0

package random

import (
	"flag"
	"runtime"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// Shrink returns the smallest history that rapid finds to fail as the one of this seed does. It sets rapid's flags.
func Shrink(
	histories *rapid.Generator[*simulation.Scenario], seed int, fails func(*simulation.Scenario) bool,
) *simulation.Scenario {
	for name, value := range map[string]string{"seed": strconv.Itoa(seed), "checks": "1", "nofailfile": "true",
		"shrinktime": "20s"} {
		if err := flag.Set("rapid."+name, value); err != nil {
			panic(err) // rapid has another flag now
		}
	}
	smallest := histories.Example(seed)
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(&silent{}, func(t *rapid.T) {
			if s := histories.Draw(t, "history"); fails(s) {
				smallest = s
				t.Fatalf("it fails")
			}
		})
	}()
	<-done
	return tidy(smallest, fails)
}

// tidy leaves out every event, and every Application, without which it still fails.
func tidy(s *simulation.Scenario, fails func(*simulation.Scenario) bool) *simulation.Scenario {
	for i := len(s.Events) - 1; i >= 0; i-- {
		if less := without(s, i); fails(less) {
			s = less
		}
	}
	for i := len(s.Applications) - 1; i >= 0; i-- {
		less := *s
		less.Applications = slices.Delete(slices.Clone(s.Applications), i, i+1)
		if fails(&less) {
			s = &less
		}
	}
	return s
}

// without is a scenario without one event; what comes after stays when it is.
func without(s *simulation.Scenario, i int) *simulation.Scenario {
	less := *s
	less.Events = slices.Clone(s.Events)
	if i+1 < len(less.Events) {
		less.Events[i+1].After += less.Events[i].After
	}
	less.Events = slices.Delete(less.Events, i, i+1)
	return &less
}

// silent is a test that nobody looks at.
type silent struct{ failed bool }

func (*silent) Helper()                 {}
func (*silent) Name() string            { return "history" }
func (*silent) Logf(string, ...any)     {}
func (*silent) Log(...any)              {}
func (*silent) Skipf(string, ...any)    { runtime.Goexit() }
func (*silent) Skip(...any)             { runtime.Goexit() }
func (*silent) SkipNow()                { runtime.Goexit() }
func (s *silent) Errorf(string, ...any) { s.failed = true }
func (s *silent) Error(...any)          { s.failed = true }
func (s *silent) Fatalf(string, ...any) { s.FailNow() }
func (s *silent) Fatal(...any)          { s.FailNow() }
func (s *silent) FailNow() {
	s.failed = true
	runtime.Goexit()
}
func (s *silent) Fail()        { s.failed = true }
func (s *silent) Failed() bool { return s.failed }
