// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// TestABusyMonorepo has others commit every second, for two minutes, what touches none of the Applications. In the
// middle one commit touches all. With the gate it has to be deployed everywhere while the others land, usually in at
// most twice the time that it takes without those. Argo CD is asked to compare everybody after each commit, as its git
// webhook does. It may overlook that, and does not compare before it polls again: so the median counts. With its grace
// period, Argo CD 3.6 itself waits for a pause between the commits.
func TestABusyMonorepo(t *testing.T) {
	for _, version := range []string{"3.2", "3.5", "3.6 no-grace"} {
		t.Run(version, func(t *testing.T) {
			var alone, busy []time.Duration
			for jitter := range 20 {
				alone = append(alone, deployedAfter(t, monorepo(t, version, jitter, false)))
				busy = append(busy, deployedAfter(t, monorepo(t, version, jitter, true)))
			}
			slices.Sort(alone)
			slices.Sort(busy)
			t.Logf("alone %s, while others commit %s", alone, busy)
			g := NewWithT(t)
			g.Expect(busy[len(busy)/2]).To(BeNumerically("<=", 2*alone[len(alone)/2]))
			g.Expect(busy[len(busy)*9/10-1]).To(BeNumerically("<", lasting/2*time.Second),
				"it is deployed while the others land")
		})
	}
}

// lasting is how many commits land, one a second.
const lasting = 120

func monorepo(t *testing.T, version string, jitter int, others bool) *simulation.Scenario {
	t.Helper()
	version, flags, _ := strings.Cut(version, " ")
	text := fmt.Sprintf(
		"argocd %s layout=shared poll=3m0s requeue=0s replicas=1 jitter=%d %s\napp dev 1\napp qa 2\napp prod 3\n", version, jitter, flags,
	)
	for second := range lasting {
		switch {
		case second == lasting/2:
			text += "+1s commit app all\n+0s githook app\n"
		case others:
			text += "+1s commit app none\n+0s githook app\n"
		default:
			text += "+1s refresh nobody\n"
		}
	}
	scenario, err := simulation.Parse(text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return scenario
}

// deployedAfter is how long after the commit that touches all the last of three Applications begins to deploy it.
func deployedAfter(t *testing.T, s *simulation.Scenario) time.Duration {
	t.Helper()
	var landed, last time.Duration
	waiting := map[string]bool{"dev": true, "qa": true, "prod": true}
	result := simulation.NewPlayer().Play(s, func(at time.Duration, text string) {
		name, _, starts := strings.Cut(text, " starts to sync")
		switch {
		case text == "* commit app all":
			landed = at
		case landed > 0 && starts && waiting[name]:
			delete(waiting, name)
			last = at
		}
	})
	g := NewWithT(t)
	g.Expect(result.Early).To(BeEmpty())
	g.Expect(result.Incomplete).To(BeEmpty())
	g.Expect(waiting).To(BeEmpty())
	return last - landed
}
