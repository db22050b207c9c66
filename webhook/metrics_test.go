package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/settings"
)

// Dashboards and alerts rest on these names and labels.
const wantMetrics = `stepgate_annotation_errors_total counter annotation
stepgate_approvals_total counter result
stepgate_decision_duration_seconds histogram outcome
stepgate_decisions_total counter initiator,mode,outcome,reason
stepgate_events_total counter result
stepgate_live_read_duration_seconds histogram kind
stepgate_live_reads_total counter kind,result
stepgate_operations_changed_total counter reason,verb
stepgate_refreshes_total counter result
stepgate_requests_total counter code,path
stepgate_unknown_application_decisions_total counter 
stepgate_unlisted_account_operations_total counter `

func TestMetricNames(t *testing.T) {
	g := NewWithT(t)
	trial := newTrial(testConfig(), clusterOf(blocked))
	m := trial.metrics
	m.Count(Path, 200)
	m.ReadDone("application_list", time.Millisecond, nil)
	m.annotations.WithLabelValues(settings.ModeAnnotation).Inc()
	trial.events.count("sent")
	m.RefreshDone("requested")
	m.changes.WithLabelValues("pinned", "compared").Inc()
	m.approvals.WithLabelValues("approved").Inc()
	trial.handle(syncOf(clusterOf(blocked), "prod").request())

	families, err := trial.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, family := range families {
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		names = append(names, strings.Join([]string{family.GetName(), strings.ToLower(family.GetType().String()), strings.Join(labels, ",")}, " "))
		g.Expect(family.GetHelp()).To(HaveSuffix("."))
	}
	g.Expect(slices.IsSorted(names)).To(BeTrue())
	g.Expect(strings.Join(names, "\n")).To(Equal(wantMetrics))

	problems, err := testutil.GatherAndLint(trial.registry)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
}

func TestMetricsReads(t *testing.T) {
	g := NewWithT(t)
	m := newTrial(testConfig(), nil).metrics
	m.ReadDone("application_list", 3*time.Millisecond, nil)
	m.ReadDone("application_list", time.Second, errors.New("timeout"))
	m.ReadDone("application_list", time.Second, fmt.Errorf("get it: %w", context.Canceled))
	g.Expect(testutil.CollectAndCompare(m.reads, strings.NewReader(`
# HELP stepgate_live_reads_total Live reads at the API server, by result: ok, error, or canceled when the answer is not needed any more.
# TYPE stepgate_live_reads_total counter
stepgate_live_reads_total{kind="application_list",result="canceled"} 1
stepgate_live_reads_total{kind="application_list",result="error"} 1
stepgate_live_reads_total{kind="application_list",result="ok"} 1
`))).To(Succeed())
	g.Expect(testutil.CollectAndCount(m.readLatency)).To(Equal(1))
}

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
