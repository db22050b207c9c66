// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"maps"
	"slices"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// row is one write of "prod" and everything that comes of it.
type row struct {
	// scenario is as in clusterOf; prod is the target.
	scenario string
	config   func(*settings.Config)
	set      func(*argo.ApplicationSet)
	cluster  func(*scenario.Cluster)
	write    func(*scenario.Attempt)

	// wantAllowed and wantCode are exclusive.
	wantAllowed bool
	wantCode    int32
	// unpinned says that the Mutator has not seen the write.
	unpinned     bool
	wantMessage  string
	wantCauses   []string // APPLICATION REASON DETAIL
	wantAudit    string   // KEY=VALUE; by key
	wantWarnings []string
	wantMetric   string // OUTCOME REASON MODE INITIATOR
	wantEvent    string // TYPE REASON ACTION KIND/NAME/UID related NAME: NOTE
	// wantMalformed are the annotations that the metric counts.
	wantMalformed []string
}

// prepare makes what the row describes.
func (r row) prepare() (*scenario.Cluster, settings.Config, *scenario.Attempt) {
	c, config := scenario.Of(r.scenario), scenario.Config()
	if r.set != nil {
		r.set(c.Sets[0])
	}
	if r.config != nil {
		r.config(&config)
	}
	write := scenario.SyncOf(c, "prod")
	if r.write != nil {
		r.write(write)
	}
	if r.cluster != nil {
		r.cluster(c)
	}
	return c, config, write
}

// run judges the row's write and compares all of it.
func (r row) run(t *testing.T) {
	g := NewWithT(t)
	c, config, write := r.prepare()
	trial := newTrial(config, c)

	handle := trial.handle
	if r.unpinned {
		handle = trial.asWritten
	}
	resp := handle(write.Request())

	g.Expect(resp.Allowed).To(Equal(r.wantAllowed))
	status := metav1.Status{}
	if resp.Result != nil {
		status = *resp.Result
	}
	g.Expect(status.Code).To(Equal(r.wantCode))
	g.Expect(status.Message).To(Equal(r.wantMessage))
	if r.wantCode == 403 {
		g.Expect(status.Status).To(Equal("Failure"))
		g.Expect(status.Reason).To(Equal(metav1.StatusReasonForbidden))
		g.Expect(status.Details.Kind).To(Equal("applications"))
		g.Expect(status.Details.RetryAfterSeconds).To(BeZero(), "clients would wait inside their workers")
	}
	g.Expect(causesOf(status)).To(Equal(r.wantCauses))
	g.Expect(auditOf(resp.AuditAnnotations)).To(Equal(r.wantAudit))
	g.Expect(resp.Warnings).To(Equal(r.wantWarnings))

	series := 0
	if r.wantMetric != "" {
		series = 1
		g.Expect(trial.counted("stepgate_decisions_total", strings.Fields(r.wantMetric)...)).To(Equal(1.0), r.wantMetric)
	}
	g.Expect(len(trial.samples("stepgate_decisions_total"))).To(Equal(series), "decisions counted")
	g.Expect(len(trial.samples("stepgate_decision_duration_seconds"))).To(Equal(series), "latencies observed")
	for _, annotation := range r.wantMalformed {
		g.Expect(trial.counted("stepgate_annotation_errors_total", annotation)).To(Equal(1.0), annotation)
	}
	g.Expect(len(trial.samples("stepgate_annotation_errors_total"))).To(Equal(len(r.wantMalformed)))

	var events []string
	for _, event := range trial.posted() {
		events = append(events, eventText(event))
	}
	g.Expect(strings.Join(events, "\n")).To(Equal(r.wantEvent))
}

func causesOf(status metav1.Status) []string {
	if status.Details == nil {
		return nil
	}
	var causes []string
	for _, cause := range status.Details.Causes {
		causes = append(causes, strings.TrimSpace(cause.Field+" "+string(cause.Type)+" "+cause.Message))
	}
	return causes
}

func auditOf(annotations map[string]string) string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		texts = append(texts, key+"="+annotations[key])
	}
	return strings.Join(texts, "; ")
}

func eventText(e *eventsv1.Event) string {
	text := strings.Join([]string{
		e.Type, e.Reason, e.Action, e.Regarding.Kind + "/" + e.Regarding.Name + "/" + string(e.Regarding.UID),
	}, " ")
	if e.Related != nil {
		text += " related " + e.Related.Name
	}
	return text + ": " + e.Note
}
