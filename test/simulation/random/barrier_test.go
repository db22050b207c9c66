// SPDX-License-Identifier: Apache-2.0

package random

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// TestBarrier plays the same random histories without the gate on the controllers of 3.5 and 3.6, and counts those in
// which the ApplicationSet controller starts something early. The barrier of 3.6 has to make a difference, with and
// without its grace period, and it has to leave something open: otherwise the model has no barrier, or nothing for the
// gate to do. Users start no syncs in these histories, for no barrier looks at theirs.
func TestBarrier(t *testing.T) {
	g := NewWithT(t)
	worlds := map[string]func(*simulation.Scenario){
		"3.5":                  func(s *simulation.Scenario) { s.Version = "3.5" },
		"3.6":                  func(s *simulation.Scenario) { s.Version = "3.6" },
		"3.6, no grace period": func(s *simulation.Scenario) { s.Version, s.NoGrace = "3.6", true },
	}
	early, stale := map[string]int{}, map[string]int{}
	player, histories := simulation.NewPlayer(), Histories("3.5")
	for seed := 1; seed <= 200; seed++ {
		s := histories.Example(seed)
		s.Events = slices.DeleteFunc(s.Events, startedByUser)
		for name, change := range worlds {
			played := *s
			change(&played)
			result := player.Alone(&played, nil)
			if len(result.Early) > 0 {
				early[name]++
			}
			// A6: an Application of an earlier step was not compared with the commit.
			if slices.Contains(result.Kinds(), "early A6") {
				stale[name]++
			}
		}
	}
	t.Logf("of 200 histories, early: %v; because of a comparison that was too old: %v", early, stale)
	for _, name := range []string{"3.6", "3.6, no grace period"} {
		g.Expect(early[name]).To(BeNumerically(">", 0), "%s", name)
		g.Expect(3*early[name]).To(BeNumerically("<", 2*early["3.5"]), "%s", name)
		g.Expect(5*stale[name]).To(BeNumerically("<", stale["3.5"]), "%s", name)
	}
}

func startedByUser(e simulation.Event) bool {
	return slices.ContainsFunc([]string{"sync ", "rollback ", "try ", "local ", "foreign "}, func(verb string) bool {
		return strings.HasPrefix(e.Do, verb)
	})
}
