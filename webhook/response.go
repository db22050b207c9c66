package webhook

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
)

const (
	// maxCauses bounds the blockers that a denial and the audit annotation "blockers" list.
	maxCauses = 20
	// maxWarning is the length from which API servers cut warnings.
	maxWarning = 256
	// maxText bounds any other text that a client chose.
	maxText = 1024
)

// response words the verdict. It is the only place that can admit or reject a write.
func (v verdict) response() webhook.AdmissionResponse {
	r := admissionv1.AdmissionResponse{AuditAnnotations: v.annotations(), Warnings: v.warnings()}
	switch {
	case !v.rejects():
		r.Allowed = true
	case v.err != nil:
		return unavailable()
	default:
		r.Result = v.denial()
	}
	return webhook.AdmissionResponse{AdmissionResponse: r}
}

// denial is always a 403. A 409 would make argocd-server and the application controller retry without a pause, a 404
// would make the ApplicationSet controller forget the Application, and a 429 makes clients wait inside their workers.
func (v verdict) denial() *metav1.Status {
	status := &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: v.message(),
		Details: &metav1.StatusDetails{Group: "argoproj.io", Kind: "applications"},
	}
	for _, b := range v.Blockers[:min(len(v.Blockers), maxCauses)] {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseType(b.Reason), Field: b.Application, Message: b.Detail,
		})
	}
	return status
}

// message is the decision's sentence, and why a bypass that was asked for did not help.
func (v verdict) message() string {
	if v.settings.Bypass == "" {
		return v.Message()
	}
	return v.Message() + " (bypass " + v.settings.Bypass + ")"
}

// holdNote says why a sync is held, and whether somebody has to start it.
func (v verdict) holdNote() string {
	if !v.released {
		return v.message()
	}
	return v.message() + ". The sync then starts by itself"
}

// releaseNote says that a sync may start, and why only now.
func (v verdict) releaseNote(over wait) string {
	note := fmt.Sprintf("step %d of ApplicationSet %s may sync now: it has waited for %s", v.Step+1, v.ApplicationSet, max(over.took, time.Second).Round(time.Second))
	if over.names != "" {
		note += ", last for " + over.names
	}
	return note
}

// annotations are the audit annotations; the API server puts the webhook's name before each key.
func (v verdict) annotations() map[string]string {
	a := map[string]string{"decision": v.outcome(), "mode": v.settings.Mode.String()}
	set := func(key, value string) {
		if value != "" {
			a[key] = printable(value)
		}
	}
	set("bypass", v.settings.Bypass)
	set("excluded", v.settings.Exclusion)
	if v.err != nil {
		set("error", v.failure())
		return a
	}
	set("reason", string(v.Reason))
	set("applicationset", v.ApplicationSet)
	if v.Step >= 0 {
		set("step", strconv.Itoa(v.Step+1))
	}
	var blockers []string
	for _, b := range v.Blockers[:min(len(v.Blockers), maxCauses)] {
		blockers = append(blockers, b.Application+"="+string(b.Reason))
	}
	if more := len(v.Blockers) - maxCauses; more > 0 {
		blockers = append(blockers, fmt.Sprintf("and %d more", more))
	}
	set("blockers", strings.Join(blockers, ","))
	return a
}

// warnings reach kubectl users; argocd-server and Argo CD's UI do not show them.
func (v verdict) warnings() []string {
	var warnings []string
	for _, p := range v.settings.Problems {
		warnings = append(warnings, warning("stepgate: "+p.String()))
	}
	switch {
	case v.err != nil && !v.rejects():
		warnings = append(warnings, "stepgate (audit mode): this sync could not be judged; see stepgate's log")
	case v.err == nil && v.Outcome == policy.Deny && !v.rejects():
		warnings = append(warnings, warning("stepgate (audit mode) would deny this sync: "+v.message()))
	}
	return warnings
}

func (v verdict) outcome() string {
	switch {
	case v.err != nil:
		return "error"
	case v.held:
		return "hold"
	}
	return v.Outcome.String()
}

// unavailable says that there is no decision. The server answers it with HTTP 503 and not with a review: an answered
// review would reject the write even where failurePolicy is Ignore.
func unavailable() webhook.AdmissionResponse {
	return failed(http.StatusServiceUnavailable, "stepgate cannot decide: it could not read the ApplicationSet and its Applications from the API server in time; see stepgate's log")
}

// badRequest says that stepgate cannot judge the request. The server answers it with HTTP 400.
func badRequest(err error) webhook.AdmissionResponse {
	return failed(http.StatusBadRequest, printable(err.Error()))
}

func failed(code int32, message string) webhook.AdmissionResponse {
	return webhook.AdmissionResponse{AdmissionResponse: admissionv1.AdmissionResponse{
		Result: &metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message},
	}}
}

func warning(s string) string { return policy.Printable(s, maxWarning) }

// printable is text that a client chose, on one line of printable ASCII of bounded length.
func printable(s string) string { return policy.Printable(s, maxText) }
