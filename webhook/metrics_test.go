// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/scenario"
)

// The number of series does not grow with the number of Applications, ApplicationSets or users.
func TestMetricsDoNotGrowWithApplications(t *testing.T) {
	g := NewWithT(t)
	series := func(applications int) int {
		c := scenario.Of(blocked)
		trial := newTrial(scenario.Config(), c)
		for i := range applications {
			write := scenario.SyncOf(c, "prod")
			name := fmt.Sprint("app-", i)
			write.Before = write.Before.DeepCopy()
			write.Before.Name, write.After.Name = name, name
			write.Before.UID, write.After.UID = types.UID(name), types.UID(name)
			write.User = "user-" + name
			if i%2 == 1 {
				owner := scenario.OwnedBy("set-" + name)
				write.Before.OwnerReferences[0], write.After.OwnerReferences[0] = owner, owner
				c.Sets = append(c.Sets[:1], scenario.RollingSync("set-"+name, "3"))
			}
			trial.handle(write.Request())
		}
		count, err := testutil.GatherAndCount(trial.registry)
		g.Expect(err).NotTo(HaveOccurred())
		return count
	}
	few := series(300) // enough that Events are also repeated and dropped
	g.Expect(series(1000)).To(Equal(few))
	g.Expect(few).To(BeNumerically("<", 10))
}
