// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/server"
)

// The gate behind webhook/server: these tests see what an API server sees.

// reviewOf is the body that an API server sends.
func reviewOf(req admissionv1.AdmissionRequest) []byte {
	return scenario.Encode(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &req,
	})
}

func syncReview(line string) []byte {
	return reviewOf(scenario.Pinned(scenario.SyncOf(scenario.Of(line), "prod").Request()))
}

// post is a call of an API server.
func post(body io.Reader) *http.Request {
	r := httptest.NewRequest(http.MethodPost, ValidatePath+"?timeout=5s", body)
	r.Header.Set("Content-Type", "application/json")
	return r
}

// serveHTTP answers one call.
func (t *trial) serveHTTP(log logr.Logger, r *http.Request) *httptest.ResponseRecorder {
	rw := httptest.NewRecorder()
	server.NewHandler(map[string]admission.Handler{ValidatePath: t.gate}, t.metrics, log).ServeHTTP(rw, r)
	return rw
}

// serve answers one call with a Gate on the cluster.
func serve(live judge.Evaluator, r *http.Request) (*httptest.ResponseRecorder, *trial) {
	trial := newTrial(scenario.Config(), live)
	return trial.serveHTTP(logr.Discard(), r), trial
}

// statusText is the Status from which an API server takes the message of a failed call.
func statusText(code int, message string) string {
	reason := map[int]string{400: "BadRequest", 503: "ServiceUnavailable"}[code]
	return fmt.Sprintf(
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%s,"reason":%q,"code":%d}`, scenario.Encode(message), reason, code,
	)
}

func TestAVerdictIsServedAsAReview(t *testing.T) {
	for name, tc := range map[string]struct {
		scenario string
		want     string
	}{
		"denied": {blocked, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"request-uid","allowed":false,` +
			`"status":{"metadata":{},"status":"Failure","message":"` + qaDegraded + `","reason":"Forbidden",` +
			`"details":{"group":"argoproj.io","kind":"applications","causes":[{"reason":"NotHealthy","message":"Degraded","field":"qa"}]},"code":403},` +
			`"auditAnnotations":{"applicationset":"argocd/guestbook","blockers":"qa=NotHealthy","decision":"deny","mode":"enforce","reason":"NotHealthy","step":"3"}}}`},
		"allowed": {open, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},` +
			`"auditAnnotations":{"applicationset":"argocd/guestbook","decision":"allow","mode":"enforce","reason":"EarlierStepsDone","step":"3"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			rw, trial := serve(scenario.Of(tc.scenario), post(bytes.NewReader(syncReview(tc.scenario))))
			g.Expect(rw.Code).To(Equal(200))
			g.Expect(rw.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(rw.Body.String()).To(Equal(tc.want))
			g.Expect(trial.counted("stepgate_requests_total", ValidatePath, "200")).To(Equal(1.0))
		})
	}
}

// The API server applies failurePolicy to a request that the gate cannot judge. The answer says why in one sentence.
func TestARequestThatCannotBeJudgedIsServedAs400(t *testing.T) {
	for name, tc := range map[string]struct {
		edit     func(*admissionv1.AdmissionRequest)
		wantText string
	}{
		"another resource":         {func(r *admissionv1.AdmissionRequest) { r.Kind.Group, r.Kind.Kind = "apps", "Deployment" }, `stepgate judges Applications of argoproj.io, not Deployment of "apps": correct the rules of the ValidatingWebhookConfiguration`},
		"no object":                {func(r *admissionv1.AdmissionRequest) { r.Object.Raw = nil }, "the request to UPDATE an Application has no object"},
		"an object that is a list": {func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte("[]") }, "object is not an Application: json: cannot unmarshal array into Go value of type argocd.Application"},
		"an object that is a text": {func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte(`"x"`) }, "object is not an Application: json: cannot unmarshal string into Go value of type argocd.Application"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			req := scenario.SyncOf(scenario.Of(blocked), "prod").Request()
			tc.edit(&req)
			rw, trial := serve(scenario.Untouchable{T: t}, post(bytes.NewReader(reviewOf(req))))
			g.Expect(rw.Code).To(Equal(400))
			g.Expect(rw.Body.String()).To(Equal(statusText(400, tc.wantText)))
			g.Expect(rw.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(rw.Header()).NotTo(HaveKey("Allow"))
			g.Expect(trial.counted("stepgate_requests_total", ValidatePath, "400")).To(Equal(1.0))
			g.Expect(len(trial.samples("stepgate_requests_total"))).To(Equal(1))
		})
	}
}

func TestADeletionIsServedAsAllowed(t *testing.T) {
	g := NewWithT(t)
	req := scenario.SyncOf(scenario.Of(blocked), "prod")
	req.Before, req.After = req.After, nil
	rw, _ := serve(scenario.Untouchable{T: t}, post(bytes.NewReader(reviewOf(req.Request()))))
	g.Expect(rw.Code).To(Equal(200))
	g.Expect(rw.Body.String()).To(ContainSubstring(`"allowed":true`))
}

func TestAReadErrorIsServedAs503(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of(open)
	c.FailAt = 2
	rw, trial := serve(c, post(bytes.NewReader(syncReview(open))))
	g.Expect(rw.Code).To(Equal(503), "a review would reject even where failurePolicy is Ignore")
	g.Expect(rw.Body.String()).To(Equal(statusText(503, cannotDecide)))
	g.Expect(rw.Header().Get("Connection")).To(Equal("close"), "the next call shall go to another replica")
	g.Expect(trial.counted("stepgate_requests_total", ValidatePath, "503")).To(Equal(1.0))
}
