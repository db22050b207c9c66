// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/refresh"
)

// stale brings dev and qa to Healthy and Synced at the old commit, while prod wants the new one.
func (r *rollout) stale() {
	r.t.Helper()
	for _, env := range []string{"dev", "qa"} {
		r.Expect(r.update(cluster.ControllerAccount, env, func(app *argo.Application) {
			guestbook.Compare(app, r.Now().Add(-time.Minute), guestbook.OldCommit, argo.SyncStatusCodeSynced, "Healthy")
		})).To(Succeed())
	}
}

// asked is the refresh that is asked for on an Application; "" when none is.
func (r *rollout) asked(env string) string {
	return r.app(env).Annotations[argo.AnnotationKeyRefresh]
}

func TestStaleSiblingsAreRefreshed(t *testing.T) {
	r := newRollout(t)
	r.stale()
	before := r.app("dev")
	r.Expect(r.sync(cluster.ControllerAccount, "prod")).NotTo(Succeed())
	for _, env := range []string{"dev", "qa"} {
		r.Eventually(func() string { return r.asked(env) }).Should(Equal("normal"), env)
	}
	after := r.app("dev")
	r.Expect(after.Spec).To(Equal(before.Spec))
	r.Expect(after.Status).To(Equal(before.Status))

	// Argo CD answers, and the sync goes through.
	r.done("dev")
	r.done("qa")
	r.Expect(r.asked("dev")).To(BeEmpty())
	r.Expect(r.sync(cluster.ControllerAccount, "prod")).To(Succeed())
	r.Expect(r.replica.Metric(r.ctx, "stepgate_refreshes_total", "result", "requested")).To(Equal(2.0))
}

// TestAHardRefreshIsNotReplaced asks as the gate does, with its own account, for what somebody else has asked for.
func TestAHardRefreshIsNotReplaced(t *testing.T) {
	r := newRollout(t)
	hard := client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"hard"}}}`))
	r.Expect(r.as(cluster.ServerAccount).Patch(r.ctx, r.app("dev"), hard)).To(Succeed())

	account := "system:serviceaccount:" + r.replica.Name + ":" + r.replica.Name
	ask := refresh.NewAnnotation(r.as(account))
	err := ask.AskRefresh(r.ctx, client.ObjectKeyFromObject(r.app("dev")))
	r.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	r.Expect(r.asked("dev")).To(Equal("hard"))

	r.Expect(ask.AskRefresh(r.ctx, client.ObjectKeyFromObject(r.app("qa")))).To(Succeed())
	r.Expect(r.asked("qa")).To(Equal("normal"))
	for _, want := range []string{"normal-again", "normal"} {
		r.Expect(ask.AskRefreshAgain(r.ctx, client.ObjectKeyFromObject(r.app("qa")))).To(Succeed())
		r.Expect(r.asked("qa")).To(Equal(want))
	}
	err = ask.AskRefreshAgain(r.ctx, client.ObjectKeyFromObject(r.app("dev")))
	r.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "a hard refresh stays: %v", err)
	err = ask.AskRefreshAgain(r.ctx, client.ObjectKeyFromObject(r.app("prod")))
	r.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "nothing was requested: %v", err)
	err = ask.AskRefresh(r.ctx, client.ObjectKey{Namespace: r.namespace, Name: "gone"})
	r.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "it is not created: %v", err)
}

func TestNothingIsRefreshedUnasked(t *testing.T) {
	for name, args := range map[string][]string{
		"in audit mode":       {"--mode=audit"},
		"with the flag off":   {"--release=false"},
		"by a server dry-run": nil,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRollout(t, args...)
			r.stale()
			var opts []client.PatchOption
			if args == nil {
				opts = append(opts, client.DryRunAll)
			}
			_ = r.sync(cluster.ControllerAccount, "prod", opts...)
			r.Consistently(func() string { return r.asked("dev") + r.asked("qa") }).WithTimeout(time.Second).Should(BeEmpty())
		})
	}
}
