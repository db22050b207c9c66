// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/approval"
	"github.com/stepgate/stepgate/webhook/record"
)

// ValidateApplicationSetPath is where an ApprovalCheck is served.
const ValidateApplicationSetPath = "/validate-applicationset"

// ApproverConfig is who may approve.
type ApproverConfig = approval.Approvers

// ApprovalCheck refuses writes of an ApplicationSet in which somebody approves who may not, or speaks for somebody
// else. It judges the annotations as they are to be stored, and does the same in every mode: these annotations are
// stepgate's own.
type ApprovalCheck struct {
	approvers ApproverConfig
	actor     string
	metrics   *record.Metrics
	clock     clock.PassiveClock
}

// NewApprovalCheck returns an ApprovalCheck that counts with metrics. actor is the account that writes for users of Argo
// CD; empty if none does.
func NewApprovalCheck(
	approvers ApproverConfig, actor string, metrics *record.Metrics, clock clock.PassiveClock,
) *ApprovalCheck {
	return &ApprovalCheck{approvers: approvers, actor: actor, metrics: metrics, clock: clock}
}

var _ webhook.AdmissionHandler = (*ApprovalCheck)(nil)

// Handle judges one write, by what the request itself says. It reads nothing: nothing can change between the judgment
// and the write but other webhooks that validate, which cannot change the annotations.
func (c *ApprovalCheck) Handle(ctx context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	w, err := newSetWrite(req.AdmissionRequest, c.clock.Now(), c.actor)
	switch {
	case err != nil:
		return badRequest(err)
	case w == nil:
		return unchanged()
	}
	refusal := approval.Check(w.Write, c.approvers)
	c.record(logr.FromContextOrDiscard(ctx), w, refusal)
	if refusal != "" {
		return refused(refusal)
	}
	return unchanged()
}

// refused answers with 403, as a denied sync does.
func refused(message string) webhook.AdmissionResponse {
	return webhook.AdmissionResponse{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message,
		Details: &metav1.StatusDetails{Group: "argoproj.io", Kind: "applicationsets"},
	}}}
}

// record writes one line for a write with approvals, or one that is refused. A server dry-run is not counted.
func (c *ApprovalCheck) record(log logr.Logger, w *setWrite, refusal string) {
	var what []string
	for _, e := range approval.Added(w.Old, w.New) {
		what = append(what, policy.ClientText(e.String()))
	}
	if len(what) == 0 && refusal == "" {
		return
	}
	log = log.WithValues("applicationset", w.Set, "user", policy.ClientText(w.User), "approvals",
		policy.ClientText(strings.Join(what, ",")))
	result, text := "approved", "approved"
	if refusal != "" {
		result, text = "refused", "approval refused"
		log = log.WithValues("message", refusal)
	}
	if w.dryRun {
		log.V(1).Info("server dry-run of an approval judged", "result", result)
		return
	}
	c.metrics.ApprovalsDone(result, max(1, len(what)))
	log.Info(text)
}
