// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// reviewOf completes the response as controller-runtime's own server does (uid, code and JSON patch) and encodes it.
func reviewOf(resp admission.Response, req admission.Request) ([]byte, error) {
	if err := resp.Complete(req); err != nil {
		return nil, err
	}
	if failure := failureOf(resp); failure != nil {
		return nil, failure
	}
	return json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: &resp.AdmissionResponse,
	})
}

// failureOf says which completed responses of a handler are HTTP errors instead of reviews, so that failurePolicy
// decides. It returns nil for a review.
//
//	Allowed  Result.Code  Result.Reason  answer      made by
//	true     any          -              review      Allowed, Patched, PatchResponseFromRaw, a defaulter
//	false    500 and up   any            HTTP 5xx    Errored(500 or 503, err), apierrors.NewInternalError, a recovered panic
//	false    400          none           HTTP 400    Errored(400, err): the handler could not read the object
//	false    400          BadRequest     review      a validator that returns apierrors.NewBadRequest: its verdict
//	false    others       any            review      Denied (403), apierrors.NewInvalid (422), NewConflict (409), a zero response
//
// A response that allows is never an error: its code has no meaning to the API server. An HTTP error keeps the message,
// reason and details of the handler. It has no place for warnings and audit annotations.
func failureOf(resp admission.Response) *httpError {
	code, reason := resp.Result.Code, resp.Result.Reason
	unread := code == http.StatusBadRequest && reason == ""
	if resp.Allowed || code < http.StatusInternalServerError && !unread {
		return nil
	}
	if code > 599 {
		code = http.StatusInternalServerError
	}
	failure := newHTTPError(int(code), resp.Result.Message)
	failure.status.Details = resp.Result.Details
	if reason != "" {
		failure.status.Reason = reason
	}
	if resp.Result.Message == "" {
		failure.status.Message = http.StatusText(int(code))
	}
	return failure
}
