// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/json"
)

const (
	// bodyTimeout bounds the time in which a body has to arrive, from the end of the header, also while it waits for
	// memory. The ReadTimeout of net/http cannot do that: it begins when a connection is opened.
	bodyTimeout = 10 * time.Second
	// maxBody has room for two objects of the largest size that an API server stores (3 MiB) and for the rest of the
	// request.
	maxBody = 7 << 20
)

// readBody reads at most maxBody bytes of an AdmissionReview, within the body timeout and before ctx is done. release
// gives their memory back.
func (e *endpoint) readBody(
	ctx context.Context, rw http.ResponseWriter, r *http.Request, address string,
) (body []byte, release func(), err error) {
	if r.Method != http.MethodPost {
		rw.Header().Set("Allow", http.MethodPost)
		return nil, nil, newHTTPError(http.StatusMethodNotAllowed, "an AdmissionReview is sent by POST")
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, nil, newHTTPError(http.StatusUnsupportedMediaType, "the Content-Type has to be application/json")
	}
	tooLarge := newHTTPError(http.StatusRequestEntityTooLarge,
		fmt.Sprintf("the AdmissionReview is larger than %d bytes", maxBody))
	if r.ContentLength > maxBody {
		return nil, nil, tooLarge
	}
	ctx, cancel := context.WithTimeout(ctx, e.bodyTimeout)
	defer cancel()
	// This cannot fail on a connection of Server. net/http removes the deadline at the end of the body.
	until := func(deadline time.Time) { _ = http.NewResponseController(rw).SetReadDeadline(deadline) }
	deadline, _ := ctx.Deadline()
	until(deadline)
	arriving := e.budget.receiving(address, r.ContentLength, func() { until(time.Unix(1, 0)) })
	body, err = arriving.read(ctx, http.MaxBytesReader(rw, r.Body, arriving.announced))
	if err == nil {
		return body, func() { arriving.release() }, nil
	}
	if _, busy := errors.AsType[*httpError](err); busy {
		return nil, nil, err
	}
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return nil, nil, tooLarge
	}
	return nil, nil, newHTTPError(http.StatusBadRequest, "the body could not be read")
}

// decodeRequest refuses a field that an object has twice: decoders differ in which one they keep.
func decodeRequest(body []byte) (*admission.Request, error) {
	bad := func(format string, args ...any) error {
		return newHTTPError(http.StatusBadRequest, fmt.Sprintf(format, args...))
	}
	var review admissionv1.AdmissionReview
	duplicates, err := json.UnmarshalStrict(body, &review, json.DisallowDuplicateFields)
	if err := errors.Join(append(duplicates, err)...); err != nil {
		return nil, bad("the body is not an AdmissionReview: %s", printable(err.Error()))
	}
	want := admissionv1.SchemeGroupVersion.String()
	switch {
	case review.APIVersion != want || review.Kind != "AdmissionReview":
		return nil, bad("the body is %+.100q of %+.100q, not AdmissionReview of %s: set admissionReviewVersions to [v1]",
			review.Kind, review.APIVersion, want)
	case review.Request == nil:
		return nil, bad("the AdmissionReview has no request")
	case review.Request.UID == "":
		return nil, bad("the AdmissionReview's request has no uid")
	}
	return &admission.Request{AdmissionRequest: *review.Request}, nil
}
