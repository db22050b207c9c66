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

const (
	// trainCommits land trainEvery, and each environment is Progressing for two seconds with each of them.
	trainCommits = 15
	trainEvery   = 6 * time.Second
)

// TestACommitTrain lets a commit land every 6 s for 90 s, in 20 plays with other delays. What the last step deploys
// while they land must not become less. Before an earlier Application had to complete just what a later one deploys, it
// was 35, 74 and 69 of the 300 commits; without the gate, Argo CD itself deploys 112, 140 and 122.
func TestACommitTrain(t *testing.T) {
	for version, atLeast := range map[string]int{"3.2": 33, "3.5": 66, "3.6 no-grace": 65} {
		t.Run(version, func(t *testing.T) {
			deployed := 0
			for jitter := range 20 {
				deployed += deployedByTheLastStep(t, commitTrain(t, version, jitter))
			}
			t.Logf("the last step deployed %d of %d commits while they landed", deployed, 20*trainCommits)
			NewWithT(t).Expect(deployed).To(BeNumerically(">=", atLeast))
		})
	}
}

func commitTrain(t *testing.T, version string, jitter int) *simulation.Scenario {
	t.Helper()
	version, flags, _ := strings.Cut(version, " ")
	text := fmt.Sprintf(
		"argocd %s layout=shared poll=3m0s requeue=0s replicas=1 jitter=%d takes=2s %s\napp dev 1\napp qa 2\napp prod 3\n", version, jitter, flags,
	)
	for range trainCommits {
		text += fmt.Sprintf("+%s commit app all slow\n+0s githook app\n", trainEvery)
	}
	scenario, err := simulation.Parse(text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return scenario
}

// deployedByTheLastStep counts the commits that prod begins to deploy until the last one has had its time.
func deployedByTheLastStep(t *testing.T, s *simulation.Scenario) int {
	t.Helper()
	began := map[string]bool{}
	result := simulation.NewPlayer().Play(s, func(at time.Duration, text string) {
		if commit, starts := strings.CutPrefix(text, "prod starts to sync "); starts && at <= (trainCommits+1)*trainEvery {
			began[commit] = true
		}
	})
	g := NewWithT(t)
	g.Expect(result.Early).To(BeEmpty())
	g.Expect(result.Incomplete).To(BeEmpty())
	return len(began)
}
