// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// acted puts people among the events of half the histories of a kind: they sync by the side of the rule, go back, terminate,
// change parameters, relabel, and start stepgate again. What the kind itself draws for a seed stays as it is.
func acted(kind *rapid.Generator[*simulation.Scenario]) *rapid.Generator[*simulation.Scenario] {
	return rapid.Custom(func(t *rapid.T) *simulation.Scenario {
		s := kind.Draw(t, "of its kind")
		if pick(t, "actors", false, true) {
			a := actors{drawing: drawing{t, s, s.Applications[0].Name}, testifying: testifying{t: t, s: s}}
			a.world()
			a.act()
		}
		return s
	})
}

// actors draws what people do beside the rollout.
type actors struct {
	drawing
	testifying
}

// world draws what the Applications are like.
func (a *actors) world() {
	t, s := a.drawing.t, a.drawing.s
	if limit := pick[int64](t, "history", -1, -1, 0, 1, 2); limit >= 0 {
		s.History = &limit
	}
	s.Unstamped = pick(t, "unstamped", false, false, false, false, true)
	if s.Layout == "shared" && pick(t, "two sources of one branch", false, false, true) {
		s.Layout = "twice"
	}
	if pick(t, "slots", false, false, true) {
		if len(s.Steps) == 0 {
			limit := intstr.FromInt32(1)
			s.Steps = make([]simulation.Step, 3)
			s.Steps[rapid.IntRange(1, 2).Draw(t, "of step")].MaxUpdate = &limit
		}
		s.MaxUpdate = "keep"
	}
}

// act draws what people do, after the others have begun.
func (a *actors) act() {
	t, end := a.drawing.t, time.Duration(0)
	for _, event := range a.drawing.s.Events {
		end += event.After
	}
	for range rapid.IntRange(1, 5).Draw(t, "acts") {
		moment := rapid.IntRange(0, int((end+30*time.Second)/time.Millisecond)).Draw(t, "moment")
		at := time.Duration(moment) * time.Millisecond
		a.add(at, a.verb(at))
	}
	a.merge()
}

// verb draws one thing that people do at a moment.
func (a *actors) verb(at time.Duration) string {
	t, app := a.drawing.t, a.whom()
	switch verb := pick(t, "act", "rollback", "rollback", "local", "dryrun", "part", "partial", "terminate", "restart all",
		"amid", "named", "parameters", "approved", "retrack", "sync"); verb {
	case "rollback":
		a.add(at+a.delay(), a.afterwards(app))
		return fmt.Sprintf("rollback %s %d", app, rapid.IntRange(0, 2).Draw(t, "entries back"))
	case "restart all":
		return verb
	case "named":
		return fmt.Sprintf("named %s %d %d", app, rapid.IntRange(1, 2).Draw(t, "position"),
			rapid.IntRange(0, 2).Draw(t, "states back"))
	case "parameters":
		return a.parameters()
	case "approved":
		a.add(at+a.delay(), a.parameters())
		a.add(at+a.delay(), "sync "+app)
		return "approval " + app + " alice"
	case "retrack":
		a.add(at+pick(t, "synced after", 0, 100*time.Millisecond, 5*time.Second, 20*time.Second), "sync "+app)
		return fmt.Sprintf("retrack %s %s", app, pick(t, "track", "a", "b", "c"))
	case "terminate", "local", "partial":
		if pick(t, "slowly", false, true) {
			a.add(max(0, at-a.delay()), "slow sync "+app+" 20s")
		}
		return verb + " " + app
	default:
		return verb + " " + app
	}
}

// afterwards draws what becomes of a rollback.
func (a *actors) afterwards(app string) string {
	return pick(a.drawing.t, "afterwards", "refresh "+app, "sync "+app, "restart stepgate", "rollback "+app, "dryrun "+app)
}

// parameters draws a change of the template or of the generator.
func (a *actors) parameters() string {
	return pick(a.drawing.t, "changes", "values", "destination", "around", "parameter "+a.whom())
}

// whom draws somebody, mostly of the first step: what is done there is what later steps rest on.
func (a *actors) whom() string {
	t, all := a.drawing.t, a.drawing.s.Applications
	if pick(t, "of the first step", true, true, false) {
		first := slices.DeleteFunc(slices.Clone(all), func(x simulation.Application) bool { return x.Step != 1 })
		return first[rapid.IntRange(0, len(first)-1).Draw(t, "which")].Name
	}
	return all[rapid.IntRange(0, len(all)-1).Draw(t, "which")].Name
}
