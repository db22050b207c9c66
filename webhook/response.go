// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
)

const (
	// maxWarning is the length from which API servers cut warnings.
	maxWarning = 256
)

// answer words the verdict. It is the only place that can admit or reject a write.
func answer(v judge.Verdict) webhook.AdmissionResponse {
	r := admissionv1.AdmissionResponse{AuditAnnotations: v.AuditAnnotations(), Warnings: warnings(v)}
	switch {
	case !v.Rejects():
		r.Allowed = true
	case v.Err != nil:
		return unavailable()
	default:
		r.Result = denial(v)
	}
	return webhook.AdmissionResponse{AdmissionResponse: r}
}

// denial is always a 403. A 409 would make argocd-server and the application controller retry without a pause, a 404
// would make the ApplicationSet controller forget the Application, and a 429 makes clients wait inside their workers.
func denial(v judge.Verdict) *metav1.Status {
	status := &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: v.Message(),
		Details: &metav1.StatusDetails{Group: "argoproj.io", Kind: "applications"},
	}
	for _, b := range v.Listed() {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseType(b.Reason), Field: b.Named(), Message: b.Detail,
		})
	}
	return status
}

// warnings reach kubectl users; argocd-server and Argo CD's UI do not show them.
func warnings(v judge.Verdict) []string {
	var warnings []string
	for _, p := range v.Settings.Problems {
		warnings = append(warnings, warning("stepgate: "+p.String()))
	}
	switch {
	case v.Err != nil && !v.Rejects():
		warnings = append(warnings, "stepgate (audit mode): this sync could not be judged; see stepgate's log")
	case v.Err == nil && v.Outcome == policy.Deny && !v.Rejects():
		warnings = append(warnings, warning("stepgate (audit mode) would deny this sync: "+v.Message()))
	}
	return warnings
}

// unavailable says that there is no decision. The server answers it with HTTP 503 and not with a review: an answered
// review would reject the write even where failurePolicy is Ignore.
func unavailable() webhook.AdmissionResponse {
	return failed(http.StatusServiceUnavailable,
		"stepgate cannot decide: it could not read the ApplicationSet and its Applications from the API server in time; "+
			"see stepgate's log")
}

// badRequest says that stepgate cannot judge the request. The server answers it with HTTP 400.
func badRequest(err error) webhook.AdmissionResponse {
	return failed(http.StatusBadRequest, policy.ClientText(err.Error()))
}

func failed(code int32, message string) webhook.AdmissionResponse {
	return webhook.AdmissionResponse{AdmissionResponse: admissionv1.AdmissionResponse{
		Result: &metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message},
	}}
}

func warning(s string) string { return policy.Printable(s, maxWarning) }

// unchanged admits a write as it is.
func unchanged() webhook.AdmissionResponse {
	return webhook.AdmissionResponse{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true}}
}
