// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
)

func (r *rollout) annotate(annotations map[string]string) {
	r.t.Helper()
	set := r.Set.DeepCopy()
	r.Expect(shared.Admin.Get(r.ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
	before := set.DeepCopy()
	set.Annotations = annotations
	r.Expect(shared.Admin.Patch(r.ctx, set, client.MergeFrom(before))).To(Succeed())
}

func TestAuditModeAdmitsAndRecords(t *testing.T) {
	r := newRollout(t, "--mode=audit")

	r.Expect(r.sync(cluster.ControllerAccount, "prod")).To(Succeed())

	r.Expect(r.stored("prod")).To(BeTrue())
	r.Expect(r.replica.Metric(r.ctx, "stepgate_decisions_total", "outcome", "deny", "reason", "NotHealthy", "mode",
		"audit", "initiator", "controller")).
		To(BeNumerically("==", 1))
	r.Eventually(func() int { return len(r.events("prod", "SyncWouldBeDenied")) }).Should(Equal(1))
	event := r.events("prod", "SyncWouldBeDenied")[0]
	r.Expect(event.Type).To(Equal(corev1.EventTypeNormal))
	r.Expect(event.Note).To(blockedByBoth)
	r.Expect(event.Regarding.UID).To(Equal(r.app("prod").UID))
	r.Expect(event.Related.Name).To(Equal("engineering-dev-guestbook"))
	// The API server's own audit log has the decision.
	r.Eventually(func() (string, error) {
		text, err := os.ReadFile(shared.AuditLog)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, `"namespace":"`+r.namespace+`"`) && !strings.Contains(line, "dryRun") &&
				strings.Contains(line, `"operation.stepgate.io/decision":"deny"`) {
				return line, nil
			}
		}
		return "", err
	}).Should(And(
		ContainSubstring(`"operation.stepgate.io/mode":"audit"`),
		ContainSubstring(`"operation.stepgate.io/step":"3"`),
		ContainSubstring(
			`"operation.stepgate.io/blockers":"engineering-dev-guestbook=NotHealthy,engineering-qa-guestbook=NotCompleted"`,
		),
	))
}

func TestTheApplicationSetsAnnotationsWin(t *testing.T) {
	r := newRollout(t)
	r.denied(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll), bothBlock...)

	for annotations, admitted := range map[*map[string]string]bool{
		{"stepgate.io/mode": "audit"}: true,
		{"stepgate.io/mode": "off"}:   true,
		{"stepgate.io/mode": "Audit"}: false,
		{"stepgate.io/bypass": time.Now().Add(time.Hour).Format(time.RFC3339) + " INC-7"}:  true,
		{"stepgate.io/bypass": time.Now().Add(time.Hour).Format(time.RFC3339)}:             false,
		{"stepgate.io/bypass": time.Now().Add(-time.Hour).Format(time.RFC3339) + " INC-7"}: false,
		{"stepgate.io/bypass": time.Now().Add(25*time.Hour).Format(time.RFC3339) + " x"}:   false,
		{"stepgate.io/require": "health"}:                                                  false,
	} {
		r.annotate(*annotations)
		err := r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)
		r.Expect(err == nil).To(Equal(admitted), "%v: %v", *annotations, err)
	}

	// With health only, dev has to be Healthy and qa may be OutOfSync.
	r.annotate(map[string]string{"stepgate.io/require": "health"})
	r.done("dev")
	// The mutating webhook knows the annotations from its watch.
	r.Eventually(func() error { return r.sync(cluster.ControllerAccount, "prod", client.DryRunAll) }).Should(Succeed())
	r.annotate(nil)
	r.Expect(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)).NotTo(Succeed())
}

func TestAServerDryRunLeavesNoTrace(t *testing.T) {
	r := newRollout(t)

	r.denied(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll), bothBlock...)
	// A denial that is not a dry-run comes after it through the same queue: when its Event is there, the other's would
	// be.
	r.Expect(r.sync(cluster.ControllerAccount, "qa")).NotTo(Succeed())

	r.Eventually(func() int { return len(r.events("qa", "SyncDenied")) }).Should(Equal(1))
	r.Expect(r.events("prod", "SyncDenied")).To(BeEmpty())
	r.Expect(r.replica.Metric(r.ctx, "stepgate_decisions_total")).To(BeNumerically("==", 1))
}

func TestADenialIsOneEventHoweverOftenItIsRetried(t *testing.T) {
	r := newRollout(t)
	for range 5 {
		r.Expect(r.sync(cluster.ControllerAccount, "prod")).NotTo(Succeed())
	}
	// Another set of blockers is another Event.
	r.done("dev")
	r.Expect(r.sync(cluster.ControllerAccount, "prod")).NotTo(Succeed())

	r.Eventually(func() int { return len(r.events("prod", "SyncDenied")) }).Should(Equal(2))
	r.Expect(r.replica.Metric(r.ctx, "stepgate_events_total", "result", "repeated")).To(BeNumerically("==", 4))
}

func TestTheNamespaceLabelIsTheEmergencySwitch(t *testing.T) {
	r := newRollout(t)
	namespace := &corev1.Namespace{}
	r.Expect(shared.Admin.Get(r.ctx, client.ObjectKey{Name: r.namespace}, namespace)).To(Succeed())
	before := namespace.DeepCopy()
	namespace.Labels["stepgate.io/ignore"] = "true"
	r.Expect(shared.Admin.Patch(r.ctx, namespace, client.MergeFrom(before))).To(Succeed())
	r.Eventually(func() error { return r.sync(cluster.ControllerAccount, "prod", client.DryRunAll) }).Should(Succeed())

	// Only true switches stepgate off.
	before = namespace.DeepCopy()
	namespace.Labels["stepgate.io/ignore"] = "false"
	r.Expect(shared.Admin.Patch(r.ctx, namespace, client.MergeFrom(before))).To(Succeed())
	r.Eventually(func() error {
		return r.sync(cluster.ControllerAccount, "prod", client.DryRunAll)
	}).Should(MatchError(ContainSubstring("may not sync yet")))
}
