// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
)

// answered writes a change of prod as a user, and returns the Application as the API server answers with it.
func (r *rollout) answered(
	user string, change func(*argo.Application), opts ...client.PatchOption,
) (*argo.Application, error) {
	app := r.app("prod")
	before := app.DeepCopy()
	change(app)
	return app, r.as(user).Patch(r.ctx, app, client.MergeFrom(before), opts...)
}

// rolling sets the operation of the ApplicationSet controller, which names no revision.
func rolling(app *argo.Application) { app.Operation = guestbook.RollingSync() }

// changed is how many operations the mutating webhook has changed.
func (r *rollout) changed(verb, reason string) float64 {
	r.t.Helper()
	n, err := r.replica.Metric(r.ctx, "stepgate_operations_changed_total", "verb", verb, "reason", reason)
	r.Expect(err).NotTo(HaveOccurred())
	return n
}

// turn brings dev and qa to where prod may sync.
func (r *rollout) turn() {
	r.t.Helper()
	r.done("dev")
	r.done("qa")
}

func TestAnOperationIsPinnedToTheComparedRevision(t *testing.T) {
	for name, tc := range map[string]struct {
		user      string
		operation *argo.Operation
	}{
		"of the ApplicationSet controller": {cluster.ApplicationSetAccount, guestbook.RollingSync()},
		"of a user":                        {cluster.ServerAccount, guestbook.UserSync("admin")},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRollout(t)
			r.turn()
			_, err := r.answered(tc.user, func(app *argo.Application) {
				app.Operation = tc.operation
				app.Operation.Retry = argo.RetryStrategy{Limit: 5, Refresh: true}
			})
			r.Expect(err).NotTo(HaveOccurred())

			stored := r.app("prod")
			r.Expect(stored.Operation.Sync.Revision).To(Equal(guestbook.NewCommit))
			r.Expect(stored.Operation.Sync.Source).To(Equal(stored.Spec.Source))
			r.Expect(stored.Operation.Retry).To(Equal(argo.RetryStrategy{Limit: 4}),
				"a retry resolves nothing again, and is within 5 minutes")
			r.Expect(stored.Operation.InitiatedBy).To(Equal(tc.operation.InitiatedBy))
			r.Expect(r.changed("pinned", "compared")).To(BeNumerically("==", 1))
			r.Expect(r.replica.Metric(r.ctx, "stepgate_decisions_total", "outcome", "allow", "reason",
				"EarlierStepsDone")).To(BeNumerically("==", 1))
			r.Eventually(func() (string, error) {
				text, err := os.ReadFile(shared.AuditLog)
				for line := range strings.Lines(string(text)) {
					if strings.Contains(line, `"namespace":"`+r.namespace+`"`) && strings.Contains(line, "hold.stepgate.io/pinned") &&
						!strings.Contains(line, "dryRun") {
						return line, nil
					}
				}
				return "", err
			}).Should(And(ContainSubstring(`"hold.stepgate.io/pinned":"`+guestbook.NewCommit+`"`),
				ContainSubstring(`"hold.stepgate.io/retry-refresh":"removed"`), ContainSubstring(`"hold.stepgate.io/retries":"4"`)))
		})
	}
}

func TestEverySourceIsPinned(t *testing.T) {
	r := newRollout(t)
	r.turn()
	r.Expect(r.update("", "prod", func(app *argo.Application) {
		chart := argo.ApplicationSource{RepoURL: "https://charts.example.com", Chart: "guestbook", TargetRevision: "1.x"}
		app.Spec.Sources, app.Spec.Source = argo.ApplicationSources{*app.Spec.Source, chart}, nil
		guestbook.Compare(app, r.Tick(), "", argo.SyncStatusCodeOutOfSync, "Healthy")
		app.Status.Sync.Revisions = []string{guestbook.NewCommit, "1.2.3"}
		app.Status.Sync.ComparedTo = app.Spec.BuildComparedToStatus(app.Spec.Sources)
	})).To(Succeed())
	// The chart is in no earlier step, so these have to be compared since.
	r.refreshed("dev")
	r.refreshed("qa")

	r.Eventually(func() error { return r.sync(cluster.ControllerAccount, "prod") }).Should(Succeed())

	stored := r.app("prod")
	r.Expect(stored.Operation.Sync.Revisions).To(Equal([]string{guestbook.NewCommit, "1.2.3"}))
	r.Expect(stored.Operation.Sync.Sources).To(Equal(stored.Spec.Sources))
	r.Expect(stored.Operation.Sync.Revision).To(BeEmpty())
}

func TestTheFirstStepIsNotPinned(t *testing.T) {
	r := newRollout(t)
	r.Expect(r.sync(cluster.ControllerAccount, "dev")).To(Succeed())
	r.Expect(r.app("dev").Operation.Sync).To(Equal(guestbook.RollingSync().Sync))
}

// The ApplicationSet controller writes a new spec and the operation in one patch, and creates Applications with an
// operation.
func TestASpecThatIsNotComparedIsStoredWithoutItsOperation(t *testing.T) {
	r := newRollout(t)
	r.turn()
	_, err := r.answered(cluster.ApplicationSetAccount, func(app *argo.Application) {
		app.Spec.Source.TargetRevision = "main"
		rolling(app)
	})
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(r.app("prod").Spec.Source.TargetRevision).To(Equal("main"))
	r.Expect(r.stored("prod")).To(BeFalse())
	// The API server plays the patch again if the gate's refresh of prod comes between.
	r.Expect(r.changed("held", "ContentUnknown")).To(BeNumerically(">=", 1))

	err = r.sync(cluster.ControllerAccount, "prod")
	r.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "there is nothing else in this write: %v", err)
	r.Expect(err).To(MatchError(ContainSubstring("(ContentUnknown: ")))

	// Argo CD compares it, and the operation comes again.
	r.Expect(r.update(cluster.ControllerAccount, "prod", func(app *argo.Application) {
		guestbook.Compare(app, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, "Healthy")
	})).To(Succeed())
	r.refreshed("dev")
	r.refreshed("qa")
	r.Eventually(func() error { return r.sync(cluster.ControllerAccount, "prod") }).Should(Succeed())
	r.Expect(r.app("prod").Operation.Sync.Source.TargetRevision).To(Equal("main"))

	app := guestbook.Application(r.Set, "prod")
	app.Name = "engineering-new-guestbook"
	rolling(app)
	before := r.changed("held", "ContentUnknown")
	r.Expect(r.as(cluster.ApplicationSetAccount).Create(r.ctx, app)).To(Succeed())
	r.Expect(shared.Admin.Get(r.ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
	r.Expect(app.Operation).To(BeNil(), "a new Application")
	r.Expect(r.changed("held", "ContentUnknown")).To(BeNumerically("==", before+1))
}

func TestWithoutTheMutatingWebhookAnAutomatedOperationIsRefused(t *testing.T) {
	r := newRollout(t)
	r.turn()
	mutating, err := installed.Mutating(r.ctx, shared, r.replica.Name)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(mutating.Delete(r.ctx, shared)).To(Succeed())

	automated := func(opts ...client.PatchOption) error {
		return r.update(cluster.ControllerAccount, "prod", rolling, opts...)
	}
	tried := func() error { return automated(client.DryRunAll) }
	r.Eventually(tried).Should(MatchError(ContainSubstring("(NotPinned: ")))
	r.denied(automated())
	r.Expect(r.replica.Ready(r.ctx)).To(Succeed(), "a replica is ready: it decides")

	// It is installed again, and stepgate fills its caBundle.
	r.Expect(mutating.Create(r.ctx, shared)).To(Succeed())
	r.Eventually(tried).Should(Succeed())
}

func TestNothingIsPinnedInAuditMode(t *testing.T) {
	r := newRollout(t, "--mode=audit")
	r.turn()
	r.Expect(r.update(cluster.ControllerAccount, "prod", rolling)).To(Succeed())
	r.Expect(r.app("prod").Operation).To(Equal(guestbook.RollingSync()))
	r.Expect(r.changed("pinned", "compared")).To(BeZero())
}

func TestNothingIsPinnedWhereAnApplicationSetIsInAuditMode(t *testing.T) {
	r := newRollout(t)
	r.annotate(map[string]string{"stepgate.io/mode": "audit"})

	// The mutating webhook knows the annotation from its watch.
	r.Eventually(func() (*argo.Operation, error) {
		app, err := r.answered(cluster.ApplicationSetAccount, rolling, client.DryRunAll)
		return app.Operation, err
	}).Should(Equal(guestbook.RollingSync()))
	r.Expect(r.update(cluster.ControllerAccount, "prod", rolling)).To(Succeed())
	r.Expect(r.app("prod").Operation).To(Equal(guestbook.RollingSync()))
	r.Expect(r.changed("pinned", "compared")).To(BeZero())
}

func TestAServerDryRunIsPinnedAndNotCounted(t *testing.T) {
	r := newRollout(t)
	r.turn()
	app, err := r.answered(cluster.ApplicationSetAccount, rolling, client.DryRunAll)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(app.Operation.Sync.Revision).To(Equal(guestbook.NewCommit))
	r.Expect(r.stored("prod")).To(BeFalse())
	r.Expect(r.changed("pinned", "compared")).To(BeZero())
}
