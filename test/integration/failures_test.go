// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
)

func TestAWebhookThatIsDownRejectsOnlyOperationWrites(t *testing.T) {
	r := newRollout(t)
	r.replica.Kill()

	err := r.sync(cluster.ControllerAccount, "dev")
	r.Expect(apierrors.IsInternalError(err)).To(BeTrue(), "%v", err)
	r.Expect(err).To(MatchError(ContainSubstring(`failed calling webhook "operation.stepgate.io"`)))
	r.done("dev")
}

func TestAWebhookThatIsDownAdmitsWithFailurePolicyIgnore(t *testing.T) {
	r := newRolloutWith(t, installed.Options{
		Registration: installed.Registration{FailurePolicy: admissionregistrationv1.Ignore},
	})
	r.Expect(r.sync(cluster.ControllerAccount, "prod")).NotTo(Succeed(), "an answered denial rejects under Ignore, too")
	r.replica.Kill()

	r.Expect(r.sync(cluster.ControllerAccount, "prod")).To(Succeed())
}

// cutRollout is a rollout whose gate has lost the API server, silently.
func cutRollout(t *testing.T, o installed.Options) *rollout {
	t.Helper()
	g := NewWithT(t)
	target, err := shared.URL()
	g.Expect(err).NotTo(HaveOccurred())
	proxy, err := faultproxy.NewProxy(target.Host)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(proxy.Close)
	o.APIServer = "https://" + proxy.Addr()
	r := newRolloutWith(t, o)
	proxy.Cut()
	return r
}

func TestAGateWithoutAPIServerAnswers503InTime(t *testing.T) {
	r := cutRollout(t, installed.Options{})

	err := r.sync(cluster.ControllerAccount, "dev")
	r.Expect(err).To(MatchError(And(
		ContainSubstring(`failed calling webhook "operation.stepgate.io"`),
		ContainSubstring(
			"stepgate cannot decide: it could not read the ApplicationSet and its Applications from the API server in time",
		),
	)))
	r.Expect(r.replica.Metric(r.ctx, "stepgate_requests_total", "code", "503")).To(BeNumerically("==", 1))
	r.Expect(r.replica.Ready(r.ctx)).To(MatchError(ContainSubstring("the API server cannot be reached")))
}

func TestAGateWithoutAPIServerLeavesItToFailurePolicyIgnore(t *testing.T) {
	r := cutRollout(t, installed.Options{
		Registration: installed.Registration{FailurePolicy: admissionregistrationv1.Ignore},
	})

	r.Expect(r.sync(cluster.ControllerAccount, "prod")).To(Succeed())
	r.Expect(r.replica.Metric(r.ctx, "stepgate_requests_total", "code", "503")).To(BeNumerically("==", 1))
}

func TestAGateWithoutAPIServerAdmitsInAuditMode(t *testing.T) {
	r := cutRollout(t, installed.Options{Args: []string{"--mode=audit"}})

	r.Expect(r.update(cluster.ApplicationSetAccount, "prod", func(app *argo.Application) {
		app.Operation = guestbook.RollingSync()
	})).To(Succeed())
	r.Expect(r.replica.Metric(r.ctx, "stepgate_decisions_total", "outcome", "error", "mode",
		"audit")).To(BeNumerically("==", 1))
}
