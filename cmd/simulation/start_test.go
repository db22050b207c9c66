// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// TestAChangeOfTheTemplateIsStarted that finds everything Synced: Argo CD itself never syncs it (argo-cd 27949).
func TestAChangeOfTheTemplateIsStarted(t *testing.T) {
	for _, change := range []string{"values", "destination", "around"} {
		for start, starts := range map[string]int{"": 0, "start": 3} {
			t.Run(change+" "+start, func(t *testing.T) {
				g := NewWithT(t)
				s, err := simulation.Parse("argocd 3.5 layout=shared poll=3m0s requeue=0s replicas=2 jitter=0 " + start +
					"\napp dev 1\napp qa 2\napp prod 3\n+5s " + change + "\n")
				g.Expect(err).NotTo(HaveOccurred())
				result := simulation.NewPlayer().Play(s, func(time.Duration, string) {})
				g.Expect(result.Early).To(BeEmpty())
				g.Expect(result.StartedBySelf).To(Equal(starts))
			})
		}
	}
}
