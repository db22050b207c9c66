package random

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/test/simulation"
)

var playFor = flag.Duration("simulate.for", 20*time.Second, "how long TestHistories plays random histories")

// mostHistories bounds what TestHistories plays on a fast machine: `make simulate` looks further.
const mostHistories = 1500

// TestHistories plays the same random histories in every run, as many as fit into the time, and wants no violation.
func TestHistories(t *testing.T) {
	player := simulation.NewPlayer()
	versions := []*rapid.Generator[*simulation.Scenario]{Histories("3.5"), Conditions("3.5"), Histories("3.5"), Histories("3.6")}
	deadline := time.Now().Add(*playFor)
	played := 0
	for time.Now().Before(deadline) && played < mostHistories {
		played++
		s := versions[played%len(versions)].Example(played)
		result := player.Play(s, nil)
		NewWithT(t).Expect(result.Wrong()).To(BeFalse(), "seed %d\n%s%s", played, s, result)
	}
	t.Logf("%d histories", played)
}

// TestSameAgain plays histories twice, from the generator and from their text.
func TestSameAgain(t *testing.T) {
	g := NewWithT(t)
	timeline := func(s *simulation.Scenario) string {
		var b strings.Builder
		result := simulation.NewPlayer().Play(s, func(at time.Duration, text string) { fmt.Fprintln(&b, at, text) })
		return b.String() + result.String()
	}
	kinds := []*rapid.Generator[*simulation.Scenario]{Histories("3.5"), Conditions("3.5")}
	for seed := 1; seed <= 80; seed++ {
		s := kinds[seed%2].Example(seed)
		parsed, err := simulation.Parse(s.String())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(parsed.String()).To(Equal(s.String()))
		g.Expect(timeline(parsed)).To(Equal(timeline(s)), "seed %d", seed)
	}
}

// TestShrinkBeginsAtTheSeed has rapid draw for a seed what Example draws.
func TestShrinkBeginsAtTheSeed(t *testing.T) {
	g := NewWithT(t)
	histories := Histories("3.5")
	for seed := 1; seed <= 5; seed++ {
		var first string
		Shrink(histories, seed, func(s *simulation.Scenario) bool {
			if first == "" {
				first = s.String()
			}
			return false
		})
		g.Expect(first).To(Equal(histories.Example(seed).String()))
	}
}
