package webhook

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
)

// The number of series does not grow with the number of Applications, ApplicationSets or users.
func TestMetricsDoNotGrowWithApplications(t *testing.T) {
	g := NewWithT(t)
	series := func(applications int) int {
		c := clusterOf(blocked)
		trial := newTrial(testConfig(), c)
		for i := range applications {
			write := syncOf(c, "prod")
			name := fmt.Sprint("app-", i)
			write.before = write.before.DeepCopy()
			write.before.Name, write.after.Name = name, name
			write.before.UID, write.after.UID = types.UID(name), types.UID(name)
			write.user = "user-" + name
			if i%2 == 1 {
				owner := ownedBy("set-" + name)
				write.before.OwnerReferences[0], write.after.OwnerReferences[0] = owner, owner
				c.sets = append(c.sets[:1], rollingSync("set-"+name, "3"))
			}
			trial.handle(write.request())
		}
		count, err := testutil.GatherAndCount(trial.registry)
		g.Expect(err).NotTo(HaveOccurred())
		return count
	}
	few := series(300) // enough that Events are also repeated and dropped
	g.Expect(series(1000)).To(Equal(few))
	g.Expect(few).To(BeNumerically("<", 10))
}
