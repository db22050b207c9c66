package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	// bodyTimeout bounds the reading of a body. It is no ReadTimeout of net/http: that begins when a connection is opened.
	bodyTimeout = 10 * time.Second
	// maxBody holds two objects of the largest size that an API server stores (3 MiB) and the rest of the request.
	maxBody = 7 << 20
	// longestTimeout is the most that a webhook's timeoutSeconds can be.
	longestTimeout = 30 * time.Second
	// usualBody holds the request of an Application of usual size, old and new.
	usualBody = 64 << 10
	// defaultTimeout is the webhook's time when the API server does not say: timeoutSeconds of config/.
	defaultTimeout = 5 * time.Second
)

// Handler serves a Gate over HTTP. A verdict is HTTP 200 with an AdmissionReview. What cannot be judged is HTTP 400, 405,
// 413 or 415 with one line of text, and what could not be judged is HTTP 503: for both the API server applies the
// webhook's failurePolicy. (controller-runtime's own handler answers both as reviews, which reject even under Ignore.)
type Handler struct {
	gate     webhook.AdmissionHandler
	requests Counter
	log      logr.Logger
	// body is how long the reading of a body may take.
	body time.Duration
}

// Counter counts answered HTTP requests by status code.
type Counter interface {
	Count(code int)
}

// NewHandler returns a Handler that logs to log and counts with requests.
func NewHandler(gate webhook.AdmissionHandler, requests Counter, log logr.Logger) *Handler {
	return &Handler{gate: gate, requests: requests, log: log, body: bodyTimeout}
}

// ServeHTTP answers one AdmissionReview within 80 % of the time that the API server allows for it.
func (h *Handler) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := h.answer(rw, r)
	if err == nil {
		h.requests.Count(http.StatusOK)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(body) // the client may be gone; the API server then applies failurePolicy
		return
	}
	failure := &httpError{code: http.StatusInternalServerError, text: "stepgate failed; see its log"}
	errors.As(err, &failure)
	h.requests.Count(failure.code)
	if failure.code < http.StatusInternalServerError {
		h.log.Info("request is not one to judge", "code", failure.code, "problem", failure.text, "remote", r.RemoteAddr)
	}
	failure.write(rw)
}

func (h *Handler) answer(rw http.ResponseWriter, r *http.Request) (body []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			h.log.Error(err, "panic while judging a request", "stack", string(debug.Stack()))
		}
	}()
	timeout, err := timeoutOf(r)
	if err != nil {
		return nil, err
	}
	// A tenth is left for saying that there is no decision, even where the processor is short.
	ctx, cancel := context.WithTimeout(r.Context(), timeout*7/10)
	defer cancel()
	req, err := h.readReview(rw, r)
	if err != nil {
		return nil, err
	}
	log := h.log.WithValues("request", printable(string(req.UID)), "namespace", printable(req.Namespace), "application", printable(req.Name),
		"user", printable(req.UserInfo.Username))
	resp := h.gate.Handle(logr.NewContext(ctx, log), webhook.AdmissionRequest{AdmissionRequest: *req})
	if resp.Result != nil && resp.Result.Code != http.StatusForbidden {
		return nil, &httpError{code: int(resp.Result.Code), text: resp.Result.Message}
	}
	resp.UID = req.UID
	return json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: &resp.AdmissionResponse,
	})
}

// timeoutOf is the time that the API server waits for the answer; it sends it with every call.
func timeoutOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("timeout")
	if text == "" {
		return defaultTimeout, nil
	}
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 {
		return 0, &httpError{http.StatusBadRequest, "the query parameter timeout is not a positive duration: " + strconv.Quote(printable(text))}
	}
	return min(timeout, longestTimeout), nil
}

// readReview reads the request of a v1 AdmissionReview.
func (h *Handler) readReview(rw http.ResponseWriter, r *http.Request) (*admissionv1.AdmissionRequest, error) {
	if r.Method != http.MethodPost {
		rw.Header().Set("Allow", http.MethodPost)
		return nil, &httpError{http.StatusMethodNotAllowed, "an AdmissionReview is sent by POST"}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &httpError{http.StatusUnsupportedMediaType, "the Content-Type has to be application/json"}
	}
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	// Room for a usual request at once, but no more on a client's word.
	buffer := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), usualBody)+bytes.MinRead))
	// It cannot fail on a connection of Server, and net/http takes it back at the end of the body.
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(h.body))
	if _, err := io.Copy(buffer, http.MaxBytesReader(rw, r.Body, maxBody)); err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return nil, tooLarge()
		}
		return nil, &httpError{http.StatusBadRequest, "the body could not be read"}
	}
	return decodeReview(buffer.Bytes())
}

func tooLarge() error {
	return &httpError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the AdmissionReview is larger than %d bytes", maxBody)}
}

func decodeReview(body []byte) (*admissionv1.AdmissionRequest, error) {
	bad := func(text string) error { return &httpError{http.StatusBadRequest, text} }
	var review admissionv1.AdmissionReview
	if err := decode(body, &review); err != nil {
		return nil, bad("the body is not an AdmissionReview: " + printable(err.Error()))
	}
	want := admissionv1.SchemeGroupVersion.String()
	switch {
	case review.APIVersion != want || review.Kind != "AdmissionReview":
		return nil, bad(fmt.Sprintf("the body is %s of %s, not AdmissionReview of %s: set admissionReviewVersions to [v1]",
			strconv.Quote(printable(review.Kind)), strconv.Quote(printable(review.APIVersion)), want))
	case review.Request == nil:
		return nil, bad("the AdmissionReview has no request")
	case review.Request.UID == "":
		return nil, bad("the AdmissionReview's request has no uid")
	}
	return review.Request, nil
}
