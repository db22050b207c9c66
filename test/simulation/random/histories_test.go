// SPDX-License-Identifier: Apache-2.0

package random

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// TestHistories plays the same random histories in every run, and wants no violation. `make simulate` looks further.
func TestHistories(t *testing.T) {
	histories := 1500
	if testing.Short() {
		histories = 100
	}
	player := simulation.NewPlayer()
	versions := []*rapid.Generator[*simulation.Scenario]{
		Histories("3.5"), Conditions("3.5"), Histories("3.5"), Histories("3.6"),
	}
	for seed := 1; seed <= histories; seed++ {
		s := versions[seed%len(versions)].Example(seed)
		result := player.Play(s, nil)
		NewWithT(t).Expect(result.Wrong()).To(BeFalse(), "seed %d\n%s%s", seed, s, result)
	}
}

// TestEvidence plays the same random histories with evidence in every run, and wants no violation. Some syncs
// have to have waited for evidence: otherwise the histories show nothing.
func TestEvidence(t *testing.T) {
	histories := 200
	if testing.Short() {
		histories = 60
	}
	player, waited := simulation.NewPlayer(), 0
	for seed := 1; seed <= histories; seed++ {
		s := Evidence("all").Example(seed)
		result := player.Play(s, nil)
		NewWithT(t).Expect(result.Wrong()).To(BeFalse(), "seed %d\n%s%s", seed, s, result)
		for _, start := range result.Starts {
			if start.Condition == "evidence" {
				waited++
			}
		}
	}
	t.Logf("%d syncs had waited for evidence", waited)
	NewWithT(t).Expect(waited).To(BeNumerically(">", 0))
}

// TestChains plays the same random chains of ApplicationSets in every run, and wants no violation.
func TestChains(t *testing.T) {
	histories := 200
	if testing.Short() {
		histories = 20
	}
	player := simulation.NewPlayer()
	for seed := 1; seed <= histories; seed++ {
		s := Chains("all").Example(seed)
		result := player.Play(s, nil)
		NewWithT(t).Expect(result.Wrong()).To(BeFalse(), "seed %d\n%s%s", seed, s, result)
	}
}

// TestSameAgain plays histories twice, from the generator and from their text.
func TestSameAgain(t *testing.T) {
	g := NewWithT(t)
	timeline := func(s *simulation.Scenario) string {
		var b strings.Builder
		result := simulation.NewPlayer().Play(s, func(at time.Duration, text string) { fmt.Fprintln(&b, at, text) })
		return b.String() + result.String()
	}
	kinds, histories := []*rapid.Generator[*simulation.Scenario]{Histories("3.5"), Conditions("3.5"), Evidence("3.5"),
		Chains("3.5")}, 60
	if testing.Short() {
		histories = 20
	}
	for seed := 1; seed <= histories; seed++ {
		s := kinds[seed%len(kinds)].Example(seed)
		parsed, err := simulation.Parse(s.String())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(parsed.String()).To(Equal(s.String()))
		g.Expect(timeline(parsed)).To(Equal(timeline(s)), "seed %d", seed)
	}
}

// TestShrinkBeginsAtTheSeed has rapid draw for a seed what Example draws. In a short test, it would draw less.
func TestShrinkBeginsAtTheSeed(t *testing.T) {
	g := NewWithT(t)
	short := flag.Lookup("test.short").Value
	was := short.String()
	t.Cleanup(func() { g.Expect(short.Set(was)).To(Succeed()) })
	g.Expect(short.Set("false")).To(Succeed())
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
