// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// begun is when the Applications of a step began to sync a revision, as the model has seen it.
type begun map[string][]time.Time

func (b begun) hear(steps map[string]int) func(time.Duration, string) {
	return func(at time.Duration, text string) {
		app, revision, starts := strings.Cut(strings.TrimSuffix(text, "]"), " starts to sync [")
		if starts {
			key := fmt.Sprint(revision, " ", steps[app])
			b[key] = append(b[key], simulation.At(at))
		}
	}
}

// TestTheLogSaysWhatHappened plays trains of commits whose replicas are killed: what the log says of starts is what the
// model has seen, and of what it has not seen it says nothing.
func TestTheLogSaysWhatHappened(t *testing.T) {
	const stamps = 2 * time.Second // they have seconds, and a sync begins a moment after its operation
	logged, complete, exact := 0, 0, 0
	for jitter := range 10 {
		text := fmt.Sprintf("argocd 3.5 layout=shared poll=3m0s requeue=0s replicas=2 jitter=%d takes=2s pin=candidate "+
			"ledger\n"+
			"app dev 1\napp qa 2\napp qa2 2\napp prod 3\n+0s annotate soak 8s\n", jitter)
		for i := range 8 {
			text += "+20s commit app all slow\n+0s githook app\n"
			if i%3 == 1 {
				text += "+1s kill 0\n+0s kill 1\n"
			}
		}
		s, err := simulation.Parse(text + "+4m githook app\n") // all are compared once more
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		seen := begun{}
		r := simulation.NewPlayer().Play(s, seen.hear(map[string]int{"dev": 1, "qa": 2, "qa2": 2, "prod": 3}))
		g := NewWithT(t)
		g.Expect(r.Early).To(BeEmpty())
		for _, rollout := range r.Rollouts {
			logged++
			if rollout.Result == ledger.Complete {
				complete++
			}
			first := true
			for _, step := range rollout.Steps {
				if step.StartedAt.IsZero() {
					continue
				}
				all := seen[fmt.Sprint(rollout.Revision, " ", step.Step)]
				g.Expect(all).To(ContainElement(BeTemporally("~", step.StartedAt, stamps)), "%s, step %d",
					rollout.Revision, step.Step)
				first = first && all[0].Sub(step.StartedAt).Abs() <= stamps
			}
			if first {
				exact++
			}
		}
	}
	t.Logf("%d rollouts, %d complete, %d with the first starts", logged, complete, exact)
	NewWithT(t).Expect(logged).To(BeNumerically(">=", 60))
	NewWithT(t).Expect(complete).To(BeNumerically(">=", 10), "the last one of each train")
	NewWithT(t).Expect(exact).To(BeNumerically(">=", logged*8/10), "each replica that is killed may miss one")
}
