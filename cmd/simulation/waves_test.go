// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// inWaves is a scenario of eight automated Applications in four waves, of which one is negative.
func inWaves(t *testing.T, set, options string, seed int, events string) *simulation.Scenario {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "argocd 3.5 layout=shared poll=3m0s requeue=0s replicas=2 jitter=%d %s\nset argocd/%s\n"+
		"step wave=-1\nstep wave=0\nstep wave=10 maxUpdate=1\nstep wave=20\n", seed, options, set)
	for i := range 8 {
		fmt.Fprintf(&text, "app a%d %d compared=%ds automated\n", i, 1+i%4, 1+(seed*37+i*53)%179)
	}
	s, err := simulation.Parse(text.String() + events)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	again, err := simulation.Parse(s.String())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(again).To(Equal(s), "what String writes, Parse reads")
	return s
}

// TestWavesAreKept of an ApplicationSet without RollingSync, and of a parent. Argo CD alone syncs all at once, which is
// the negative control.
func TestWavesAreKept(t *testing.T) {
	for _, set := range []string{"guestbook", "waves/platform"} {
		t.Run(set, func(t *testing.T) {
			alone := 0
			for seed := range 20 {
				g := NewWithT(t)
				s := inWaves(t, set, "max-update=keep", seed, "+5s commit app all slow\n+90s githook app\n+4m commit app all\n")
				result := simulation.NewPlayer().Play(s, nil)
				g.Expect(result.Early).To(BeEmpty())
				g.Expect(result.Stuck).To(BeEmpty())
				g.Expect(result.Incomplete).To(BeEmpty())
				alone += len(simulation.NewPlayer().Alone(s, nil).Early)
			}
			NewWithT(t).Expect(alone).To(BeNumerically(">", 20))
		})
	}
}

// TestConditionsOfWaves are read by the numbers of the waves.
func TestConditionsOfWaves(t *testing.T) {
	for events, want := range map[string]string{
		"+1s annotate soak 20=10m\n":               "",
		"+1s annotate pause 20: load test\n":       "a3 a7",
		"+1s annotate pause -1\n":                  "a0 a4 a1 a5 a2 a6 a3 a7",
		"+1s annotate approve 0\n":                 "a1 a5 a2 a6 a3 a7",
		"+1s annotate approve 0\n+0s approver x\n": "",
	} {
		g := NewWithT(t)
		s := inWaves(t, "waves/platform", "patience=10m0s", 1, events+"+5s commit app all slow\n")
		end := simulation.NewPlayer().Rehearse(context.Background(), s, true, 24*time.Hour, func(simulation.Observation) {})
		var waiting []string
		for _, x := range end.Waiting {
			waiting = append(waiting, x.Application)
		}
		g.Expect(strings.Fields(want)).To(ConsistOf(waiting), events)
		g.Expect(simulation.NewPlayer().Play(s, nil).Early).To(BeEmpty(), events)
	}
}
