// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
)

// pending records Applications as Pending, as the ApplicationSet controller does before it writes their operations.
func (r *rollout) pending(envs ...string) {
	r.t.Helper()
	r.Expect(shared.Admin.Get(r.ctx, client.ObjectKeyFromObject(r.Set), r.Set)).To(Succeed())
	before := r.Set.DeepCopy()
	for _, env := range envs {
		r.Set.Status.ApplicationStatus = append(r.Set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: "engineering-" + env + "-guestbook", Status: argo.ProgressiveSyncPending, Step: map[string]string{"dev": "1", "qa": "2", "prod": "3"}[env],
			TargetRevisions: []string{},
		})
	}
	r.Expect(shared.Admin.Status().Patch(r.ctx, r.Set, client.MergeFrom(before))).To(Succeed())
}

// notes are the texts of the Events on an Application with a reason.
func (r *rollout) notes(env, reason string) []string {
	var all []string
	for _, e := range r.events(env, reason) {
		all = append(all, e.Type+": "+e.Note)
	}
	return all
}

// askedMeanwhile lets Argo CD answer the refreshes of dev and qa, and is the refresh that is asked for on prod.
func (r *rollout) askedMeanwhile() string {
	for _, env := range []string{"dev", "qa"} {
		if r.asked(env) != "" {
			r.done(env)
		}
	}
	return r.asked("prod")
}

func TestAnEarlyWriteIsHeldAndReleased(t *testing.T) {
	t.Parallel()
	r := newRollout(t)
	r.pending("prod")
	r.Expect(r.update(cluster.ApplicationSetAccount, "prod", func(app *argo.Application) {
		app.Labels["team"] = "payments"
		rolling(app)
	})).To(Succeed())
	r.Expect(r.stored("prod")).To(BeFalse(), "it has no operation")
	r.Expect(r.app("prod").Labels).To(HaveKeyWithValue("team", "payments"), "the rest is stored")
	r.Expect(r.sync(cluster.ApplicationSetAccount, "prod")).To(Succeed(), "it asks again")
	r.Expect(r.stored("prod")).To(BeFalse())
	r.Eventually(func() []string {
		return r.notes("prod", "SyncHeld")
	}).Should(ConsistOf(blockedByBoth))
	r.Expect(r.replica.Metric(r.ctx, "stepgate_decisions_total", "outcome", "hold", "initiator",
		"applicationset")).To(BeNumerically("==", 2))
	r.Expect(r.replica.Metric(r.ctx, "stepgate_decisions_total", "outcome", "deny")).To(BeZero())
	r.Expect(r.asked("prod")).To(BeEmpty())
	r.Eventually(func() (float64, error) {
		return r.replica.Metric(r.ctx, "stepgate_applicationset_blocked_since_timestamp_seconds")
	}).Should(BeNumerically(">", 0))

	r.turn()
	r.Eventually(r.askedMeanwhile).Should(Equal("normal"), "its turn has come")
	r.Expect(r.sync(cluster.ApplicationSetAccount, "prod")).To(Succeed())
	r.Expect(r.stored("prod")).To(BeTrue())
	r.Eventually(func() []string { return r.notes("prod", "SyncReleased") }).Should(ConsistOf(
		And(HavePrefix("Normal: step 3 of ApplicationSet "+r.namespace+"/guestbook may sync now: it has waited for "),
			ContainSubstring("last for engineering-"))))
}

// TestAPilotIsHeldReleasedAndPinned does what docs/adopt.md says of one ApplicationSet in enforce mode, where the
// installation is in audit mode.
func TestAPilotIsHeldReleasedAndPinned(t *testing.T) {
	r := newRollout(t, "--mode=audit")
	r.pending("prod")
	r.annotate(map[string]string{"stepgate.io/mode": "enforce"})
	// The mutating webhook knows the annotation from its watch.
	r.Eventually(func() (*argo.Operation, error) {
		app, err := r.answered(cluster.ApplicationSetAccount, rolling, client.DryRunAll)
		return app.Operation, err
	}).Should(BeNil())
	r.denied(r.sync(cluster.Human, "prod"), bothBlock...)
	r.Expect(r.sync(cluster.ApplicationSetAccount, "prod")).To(Succeed())
	r.Expect(r.stored("prod")).To(BeFalse(), "it is held")

	r.turn()
	r.Eventually(r.askedMeanwhile).Should(Equal("normal"), "its turn has come")
	r.Expect(r.sync(cluster.ApplicationSetAccount, "prod")).To(Succeed())
	r.Expect(r.app("prod").Operation.Sync.Revision).To(Equal(guestbook.NewCommit), "it is pinned")
}

// TestAReplicaReleasesWhatAnotherOneHeld ends the replica that held the sync: what waits is in the cluster, not in its
// memory.
func TestAReplicaReleasesWhatAnotherOneHeld(t *testing.T) {
	t.Parallel()
	r := newRollout(t)
	r.pending("prod")
	r.Expect(r.sync(cluster.ApplicationSetAccount, "prod")).To(Succeed())
	r.Expect(r.stored("prod")).To(BeFalse())
	r.replica.Kill()
	r.turn()
	second, err := installed.StartOne(r.ctx, shared, installed.Options{
		Registration: installed.Registration{Name: r.replica.Name + "-2", Namespaces: []string{r.namespace}},
	})
	r.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(second.Kill)
	r.Eventually(r.askedMeanwhile).Should(Equal("normal"))
}

func TestNothingIsHeldForOthers(t *testing.T) {
	r := newRollout(t)
	for _, user := range []string{cluster.ControllerAccount, cluster.ServerAccount, cluster.Human} {
		r.denied(r.sync(user, "prod"), bothBlock...)
	}
}

func TestWithHoldingAndReleasingOff(t *testing.T) {
	r := newRollout(t, "--hold=false", "--release=false")
	r.pending("prod")
	r.denied(r.sync(cluster.ApplicationSetAccount, "prod"), bothBlock...)
	r.turn()
	r.Consistently(func() string { return r.asked("prod") }).WithTimeout(2 * time.Second).Should(BeEmpty())
}
