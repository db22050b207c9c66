package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/json"
)

const (
	// bodyTimeout bounds the time for reading a body. The ReadTimeout of net/http cannot do that: it begins when a connection is
	// opened.
	bodyTimeout = 10 * time.Second
	// maxBody has room for two objects of the largest size that an API server stores (3 MiB) and for the rest of the request.
	maxBody = 7 << 20
	// usualBody has room for the request of an object of usual size, old and new.
	usualBody = 64 << 10
)

// readBody reads at most maxBody bytes of an AdmissionReview, within the body timeout. release gives their memory back.
func (e *endpoint) readBody(ctx context.Context, rw http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	if r.Method != http.MethodPost {
		rw.Header().Set("Allow", http.MethodPost)
		return nil, nil, newHTTPError(http.StatusMethodNotAllowed, "an AdmissionReview is sent by POST")
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, nil, newHTTPError(http.StatusUnsupportedMediaType, "the Content-Type has to be application/json")
	}
	tooLarge := newHTTPError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the AdmissionReview is larger than %d bytes", maxBody))
	if r.ContentLength > maxBody {
		return nil, nil, tooLarge
	}
	release, err = e.budget.receiving(ctx, r.ContentLength)
	if err != nil {
		return nil, nil, err
	}
	// A client can claim any length: allocate no more than a usual request needs before its bytes arrive.
	buffer := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), usualBody)+bytes.MinRead))
	// This cannot fail on a connection of Server. net/http removes the deadline at the end of the body.
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(e.bodyTimeout))
	if _, err := io.Copy(buffer, http.MaxBytesReader(rw, r.Body, maxBody)); err != nil {
		release()
		if _, big := errors.AsType[*http.MaxBytesError](err); big {
			return nil, nil, tooLarge
		}
		return nil, nil, newHTTPError(http.StatusBadRequest, "the body could not be read")
	}
	return buffer.Bytes(), release, nil
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
		return nil, bad("the body is %+.100q of %+.100q, not AdmissionReview of %s: set admissionReviewVersions to [v1]", review.Kind, review.APIVersion, want)
	case review.Request == nil:
		return nil, bad("the AdmissionReview has no request")
	case review.Request.UID == "":
		return nil, bad("the AdmissionReview's request has no uid")
	}
	return &admission.Request{AdmissionRequest: *review.Request}, nil
}
