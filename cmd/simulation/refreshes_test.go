// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// TestFewRefreshes rolls a commit out to 80 Applications, with two replicas: each comparison that stepgate asks for costs
// Argo CD a look at the git server, and the API server a write.
func TestFewRefreshes(t *testing.T) {
	const applications, most = 80, 1.2
	for name, words := range map[string]string{
		"stepgate starts":                      "poll=0s start pin=candidate",
		"stepgate starts slow syncs":           "poll=0s start pin=candidate takes=2s",
		"the ApplicationSet controller starts": "poll=0s", "with the ledger": "poll=0s ledger",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			refreshes := 0
			for jitter := range 5 {
				text := fmt.Sprintf("argocd 3.5 layout=shared requeue=0s replicas=2 jitter=%d %s\n", jitter, words)
				for i := range applications {
					text += fmt.Sprintf("app a%02d %d\n", i, 1+i*3/applications)
				}
				s, err := simulation.Parse(text + "+1s commit app all\n+0s githook app\n")
				g.Expect(err).NotTo(HaveOccurred())
				r := simulation.NewPlayer().Play(s, nil)
				g.Expect(r.Early).To(BeEmpty())
				g.Expect(r.Incomplete).To(BeEmpty())
				refreshes += r.Refreshes
			}
			each := float64(refreshes) / 5 / applications
			t.Logf("%s: %.2f refreshes for each Application", strings.TrimSpace(name), each)
			g.Expect(each).To(BeNumerically("<=", most))
		})
	}
}
