// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/simulation"
)

const (
	// A commit lands every 6 s, each step soaks for 8 s, and both replicas are killed every 26 s.
	soakingCommits = 13
	killEvery      = 26 * time.Second
)

// TestATrainOutlivesRestarts plays that 20 times. With the ledger, prod deploys at least 4 of the 13 commits while they
// land. Here nobody has to wait for a process to start, so that it gets on a little without.
func TestATrainOutlivesRestarts(t *testing.T) {
	deployed := map[string]int{}
	for name, ledger := range map[string]string{"with": " ledger", "without": ""} {
		for jitter := range 20 {
			deployed[name] += deployedByTheLastStep(t, soakingTrain(t, ledger, jitter))
		}
	}
	t.Logf("prod deployed %d of %d commits while they landed, %d without the ledger", deployed["with"],
		20*soakingCommits, deployed["without"])
	g := NewWithT(t)
	g.Expect(deployed["with"]).To(BeNumerically(">=", 4*20))
	g.Expect(deployed["without"]).To(BeNumerically("<", deployed["with"]-20))
}

func soakingTrain(t *testing.T, ledger string, jitter int) *simulation.Scenario {
	t.Helper()
	text := fmt.Sprintf("argocd 3.5 layout=shared poll=3m0s requeue=0s replicas=2 jitter=%d takes=2s pin=candidate "+
		"start%s\napp dev 1\napp qa 2\napp prod 3\n+0s annotate soak 8s\n", jitter, ledger)
	at, kill := time.Duration(0), killEvery
	for range soakingCommits {
		wait := trainEvery
		if next := at + trainEvery; next > kill {
			text += fmt.Sprintf("+%s kill\n", kill-at)
			wait, kill = next-kill, kill+killEvery
		}
		at += trainEvery
		text += fmt.Sprintf("+%s commit app all slow\n+0s githook app\n", wait)
	}
	scenario, err := simulation.Parse(text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return scenario
}
