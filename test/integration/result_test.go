// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
)

// clearing are ways to set an operation and to clear the result of the last one in one write. The update is that of
// SetAppOperation (argo-cd v3.5.7, util/argo/argo.go), by which ApplicationSync is to start syncs, too.
var clearing = map[string]func(r *rollout, env string) error{
	"update": func(r *rollout, env string) error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			app := r.app(env)
			app.Operation, app.Status.OperationState = guestbook.RollingSync(), nil
			return r.as(cluster.ApplicationSetAccount).Update(r.ctx, app)
		})
	},
	"merge patch": func(r *rollout, env string) error {
		patch, err := json.Marshal(map[string]any{
			"operation": guestbook.RollingSync(), "status": map[string]any{"operationState": nil},
		})
		r.Expect(err).NotTo(HaveOccurred())
		return r.as(cluster.ApplicationSetAccount).Patch(r.ctx, r.app(env), client.RawPatch(types.MergePatchType, patch))
	},
}

// failed has qa OutOfSync at the new commit, to which its last sync has failed.
func (r *rollout) failed() *argo.OperationState {
	r.t.Helper()
	r.Expect(r.update(cluster.ControllerAccount, "qa", func(app *argo.Application) {
		finished := metav1.NewTime(r.Tick())
		app.Status.OperationState = &argo.OperationState{
			Operation: *guestbook.RollingSync(), Phase: synccommon.OperationFailed, Message: "one or more objects failed to apply",
			StartedAt: metav1.NewTime(finished.Add(-time.Second)), FinishedAt: &finished, RetryCount: 5,
			SyncResult: &argo.SyncOperationResult{
				Revision: guestbook.NewCommit, Source: app.Spec.GetSource(), Resources: argo.ResourceResults{{
					Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "guestbook", Name: "ui", Message: "no such image",
				}},
			},
		}
		guestbook.Compare(app, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
	})).To(Succeed())
	return r.app("qa").Status.OperationState
}

// whileAnswering lets Argo CD answer the refreshes of these Applications, and is why prod may not sync then.
func (r *rollout) whileAnswering(envs ...string) []string {
	for _, env := range envs {
		if r.asked(env) != "" {
			r.done(env)
		}
	}
	err := r.sync(cluster.ServerAccount, "prod")
	var status *apierrors.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status) && apierrors.IsForbidden(err):
		return causesOf(status)
	}
	return []string{err.Error()}
}

// TestAHeldWriteKeepsTheLastResult that it clears. Once the write goes through, the result is cleared, and the operation
// that waits holds the next step up alone.
func TestAHeldWriteKeepsTheLastResult(t *testing.T) {
	for form, write := range clearing {
		t.Run(form, func(t *testing.T) {
			r := newRollout(t)
			failed := r.failed()
			r.pending("qa")

			r.Expect(write(r, "qa")).To(Succeed())
			r.Expect(r.stored("qa")).To(BeFalse(), "it has no operation: dev is not done")
			r.Expect(r.app("qa").Status.OperationState).To(Equal(failed))
			r.Expect(r.replica.Metric(r.ctx, "stepgate_decisions_total", "outcome", "hold", "initiator",
				"applicationset")).To(BeNumerically("==", 1))
			r.Eventually(func() []string { return r.notes("qa", "SyncHeld") }).Should(ConsistOf(
				ContainSubstring("engineering-dev-guestbook (NotHealthy: ")))

			r.done("dev")
			r.Eventually(func() string {
				if r.asked("dev") != "" {
					r.done("dev")
				}
				return r.asked("qa")
			}).Should(Equal("normal"), "its turn has come")
			r.Expect(write(r, "qa")).To(Succeed())
			qa := r.app("qa")
			r.Expect(qa.Operation).NotTo(BeNil())
			r.Expect(qa.Operation.Sync.Revision).To(Equal(guestbook.NewCommit), "it is pinned")
			r.Expect(qa.Status.OperationState).To(BeNil(), "it is cleared, as the writer wants it")

			r.Eventually(r.whileAnswering).WithArguments("dev").Should(Equal([]string{
				"OperationInProgress engineering-qa-guestbook",
			}), "the cleared result is no reason to go on")

			r.Expect(r.update(cluster.ControllerAccount, "qa", func(app *argo.Application) {
				guestbook.Start(app, r.Tick())
				guestbook.Finish(app, r.Tick(), guestbook.NewCommit)
				guestbook.Compare(app, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
			})).To(Succeed())
			r.Eventually(r.whileAnswering).WithArguments("dev", "qa").Should(BeEmpty())
			r.Expect(r.app("prod").Operation.Sync.Revision).To(Equal(guestbook.NewCommit))
		})
	}
}
