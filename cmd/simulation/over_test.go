// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// TestMaxUpdateIsKept has three writers sync twelve Applications of which two may be synced at once: the ApplicationSet
// controller, stepgate and users. Without the slots more are synced at once, which is the negative control.
func TestMaxUpdateIsKept(t *testing.T) {
	over := map[string]int{}
	for seed := range 40 {
		for _, value := range []string{"keep", "count"} {
			var text strings.Builder
			fmt.Fprintf(&text, "argocd 3.5 layout=shared poll=3m0s requeue=0s replicas=2 jitter=%d start max-update=%s\n"+
				"step maxUpdate=2\nstep maxUpdate=2\n", seed, value)
			for i := range 12 {
				fmt.Fprintf(&text, "app a%d %d\n", i, 1+i%2)
			}
			fmt.Fprintf(&text, "+5s push app\n")
			for i := range 12 {
				fmt.Fprintf(&text, "+1s sync a%d\n", (seed+5*i)%12)
			}
			s, err := simulation.Parse(text.String())
			g := NewWithT(t)
			g.Expect(err).NotTo(HaveOccurred())
			result := simulation.NewPlayer().Play(s, func(time.Duration, string) {})
			for _, e := range result.Early {
				if e.Kind == "over" {
					over[value]++
				}
			}
			g.Expect(result.Stuck).To(BeEmpty(), "%s: %s", text.String(), result)
		}
	}
	g := NewWithT(t)
	g.Expect(over["keep"]).To(BeZero())
	g.Expect(over["count"]).To(BeNumerically(">", 0))
	t.Log(over)
}
