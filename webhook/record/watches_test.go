// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/stepgate/stepgate/webhook/cluster"
)

func TestEveryWatchShowsHowFarItIs(t *testing.T) {
	g := NewWithT(t)
	watched := []cluster.Watched{{Applications: "41", ApplicationSets: "7"}, {Applications: "42"}}
	w := NewWatches(func() []cluster.Watched { return watched }, []string{"team-a", "team-b"})
	g.Expect(testutil.CollectAndCompare(w, strings.NewReader(`
# HELP stepgate_watch_resource_version The resourceVersion up to which a watch has told stepgate everything. Where replicas stay apart, or one stands still for minutes, its watch lags or hangs. The namespace is empty for a watch of all.
# TYPE stepgate_watch_resource_version gauge
stepgate_watch_resource_version{resource="applications",watched_namespace="team-a"} 41
stepgate_watch_resource_version{resource="applications",watched_namespace="team-b"} 42
stepgate_watch_resource_version{resource="applicationsets",watched_namespace="team-a"} 7
`))).To(Succeed())
	problems, err := testutil.CollectAndLint(w)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
}
