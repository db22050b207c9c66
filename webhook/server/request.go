package server

import (
	"bytes"
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

// readRequest reads the request of a v1 AdmissionReview.
func (e *endpoint) readRequest(rw http.ResponseWriter, r *http.Request) (*admission.Request, error) {
	if r.Method != http.MethodPost {
		rw.Header().Set("Allow", http.MethodPost)
		return nil, newHTTPError(http.StatusMethodNotAllowed, "an AdmissionReview is sent by POST")
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, newHTTPError(http.StatusUnsupportedMediaType, "the Content-Type has to be application/json")
	}
	body, err := e.readBody(rw, r)
	if err != nil {
		return nil, err
	}
	return decodeRequest(body)
}

// readBody reads at most maxBody bytes, within the body timeout.
func (e *endpoint) readBody(rw http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := newHTTPError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the AdmissionReview is larger than %d bytes", maxBody))
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	// A client can claim any length: allocate no more than a usual request needs before its bytes arrive.
	buffer := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), usualBody)+bytes.MinRead))
	// This cannot fail on a connection of Server. net/http removes the deadline at the end of the body.
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(e.bodyTimeout))
	if _, err := io.Copy(buffer, http.MaxBytesReader(rw, r.Body, maxBody)); err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return nil, tooLarge
		}
		return nil, newHTTPError(http.StatusBadRequest, "the body could not be read")
	}
	return buffer.Bytes(), nil
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
