package random

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/simulation"
)

// TestBarrier plays the same random histories without the gate on the controllers of 3.5 and 3.6, and counts the histories in which
// Argo CD alone starts something early.
func TestBarrier(t *testing.T) {
	g := NewWithT(t)
	early := map[string]int{}
	worlds := map[string]func(*simulation.Scenario){
		"3.5":            func(s *simulation.Scenario) { s.Version = "3.5" },
		"3.6":            func(s *simulation.Scenario) { s.Version = "3.6" },
		"3.6 no grace": func(s *simulation.Scenario) { s.Version, s.NoGrace = "3.6", true },
	}
	player, histories := simulation.NewPlayer(), Histories("3.5")
	for seed := 1; seed <= 1000; seed++ {
		s := histories.Example(seed)
		s.Events = slices.DeleteFunc(s.Events, func(e simulation.Event) bool {
			return strings.HasPrefix(e.Do, "sync ") || strings.HasPrefix(e.Do, "rollback ")|| strings.HasPrefix(e.Do, "try ")
		})
		for name, set := range worlds {
			played := *s
			set(&played)
			r := player.Alone(&played, nil)
			if len(r.Early) > 0 {
				early[name]++
			}
			if len(r.Limits) > 0 {
				early[name+" limits"]++
			}
			for _, k := range r.Kinds() { early[name+": "+k]++ }
		}
	}
	t.Logf("%v", early)
	g.Expect(early).NotTo(BeEmpty())
}
