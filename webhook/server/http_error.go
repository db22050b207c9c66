// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// httpError is an answer that is not a review: a Status, answered with its code.
type httpError struct {
	status metav1.Status
}

func newHTTPError(code int, text string) *httpError {
	return &httpError{metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reasonOf(code), Message: text,
	}}
}

func (e *httpError) Error() string { return e.status.Message }

func (e *httpError) code() int { return int(e.status.Code) }

func reasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusBadRequest:
		return metav1.StatusReasonBadRequest
	case http.StatusMethodNotAllowed:
		return metav1.StatusReasonMethodNotAllowed
	case http.StatusRequestEntityTooLarge:
		return metav1.StatusReasonRequestEntityTooLarge
	case http.StatusUnsupportedMediaType:
		return metav1.StatusReasonUnsupportedMediaType
	case http.StatusServiceUnavailable:
		return metav1.StatusReasonServiceUnavailable
	}
	return metav1.StatusReasonInternalError
}

// write answers with the Status: the API server shows the message of a Status, but replaces other text by "the server
// is currently unable to handle the request". A failure closes the connection, so that the next call of the API server
// goes to a replica that is ready. On an open connection the next calls would come here again, as long as this replica
// fails.
func (e *httpError) write(rw http.ResponseWriter) {
	if e.code() >= http.StatusInternalServerError {
		rw.Header().Set("Connection", "close")
	}
	body, err := json.Marshal(e.status)
	if err != nil {
		http.Error(rw, e.Error(), e.code())
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(e.code())
	_, _ = rw.Write(body)
}
