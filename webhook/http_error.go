package webhook

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// httpError is an answer that is not a review.
type httpError struct {
	code int
	text string
}

func (e *httpError) Error() string { return e.text }

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

// write answers with a Status: the API server shows the message of one, and of plain text only "the server is currently
// unable to handle the request". A failure ends the connection, so that the API server's next call goes to a replica
// that is ready: on an open connection it would come here again, for as long as it fails.
func (e *httpError) write(rw http.ResponseWriter) {
	if e.code >= http.StatusInternalServerError {
		rw.Header().Set("Connection", "close")
	}
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(e.code), Reason: reasonOf(e.code), Message: e.text,
	})
	if err != nil {
		http.Error(rw, e.text, e.code)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(e.code)
	_, _ = rw.Write(body)
}
