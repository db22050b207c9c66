// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestSomebodyGoesRoundInCircles plays what Argo CD does with an Application that fails validation and is OutOfSync. It
// is no fault of the gate, and the history has an end all the same.
func TestSomebodyGoesRoundInCircles(t *testing.T) {
	g := NewWithT(t)
	s, err := Parse(`argocd 3.5 layout=shared poll=3m0s requeue=0s replicas=1 jitter=0
app dev 1
app prod 3
+1s invalid dev
+1s values
+1s commit app all
`)
	g.Expect(err).NotTo(HaveOccurred())
	result := NewPlayer().Play(s, nil)
	g.Expect(result.Wrong()).To(BeFalse(), result.String())
	g.Expect(result.Stranded).To(ConsistOf("everything: Argo CD goes round in circles"))
	g.Expect(NewPlayer().Rehearse(t.Context(), s, true, 24*time.Hour, nil).Endless).To(BeTrue())
}

// TestManyApplicationsAreNoCircle: a thousand have as much to do each as one of a hundred.
func TestManyApplicationsAreNoCircle(t *testing.T) {
	g := NewWithT(t)
	most := func(applications int) int {
		text := "argocd 3.5 layout=shared poll=3m0s requeue=0s replicas=1 jitter=0\n"
		for i := range applications {
			text += fmt.Sprintf("app dev-%d 1\n", i)
		}
		s, err := Parse(text)
		g.Expect(err).NotTo(HaveOccurred())
		return newWorld(s, nil).most
	}
	g.Expect(most(1000)).To(Equal(10 * most(100)))
}
