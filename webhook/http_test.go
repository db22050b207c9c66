package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// reviewOf is the body that an API server sends.
func reviewOf(req admissionv1.AdmissionRequest) []byte {
	return encode(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &req,
	})
}

func syncReview(scenario string) []byte {
	return reviewOf(syncOf(clusterOf(scenario), "prod").request())
}

// post is an API server's call.
func post(body io.Reader) *http.Request {
	r := httptest.NewRequest(http.MethodPost, Path+"?timeout=5s", body)
	r.Header.Set("Content-Type", "application/json")
	return r
}

// serve answers one call with a Gate on the cluster.
func serve(live Evaluator, r *http.Request) (*httptest.ResponseRecorder, *trial) {
	trial := newTrial(testConfig(), live)
	rw := httptest.NewRecorder()
	NewHandler(trial.gate, trial.metrics, logr.Discard()).ServeHTTP(rw, r)
	return rw, trial
}

func TestServeHTTPAnswersWithAReview(t *testing.T) {
	for name, tc := range map[string]struct {
		scenario string
		want     string
	}{
		"denied": {blocked, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"request-uid","allowed":false,` +
			`"status":{"metadata":{},"status":"Failure","message":"` + qaDegraded + `","reason":"Forbidden",` +
			`"details":{"group":"argoproj.io","kind":"applications","causes":[{"reason":"NotHealthy","message":"Degraded","field":"qa"}]},"code":403},` +
			`"auditAnnotations":{"applicationset":"argocd/guestbook","blockers":"qa=NotHealthy","decision":"deny","mode":"enforce","reason":"NotHealthy","step":"3"}}}`},
		"allowed": {open, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"request-uid","allowed":true,` +
			`"auditAnnotations":{"applicationset":"argocd/guestbook","decision":"allow","mode":"enforce","reason":"EarlierStepsDone","step":"3"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			rw, trial := serve(clusterOf(tc.scenario), post(bytes.NewReader(syncReview(tc.scenario))))
			g.Expect(rw.Code).To(Equal(200))
			g.Expect(rw.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(rw.Body.String()).To(Equal(tc.want))
			g.Expect(testutil.ToFloat64(trial.metrics.requests.WithLabelValues("200"))).To(Equal(1.0))
		})
	}
}

// statusText is the Status that an API server takes the message of a failed call from.
func statusText(code int, message string) string {
	reason := map[int]string{
		400: "BadRequest", 405: "MethodNotAllowed", 413: "RequestEntityTooLarge", 415: "UnsupportedMediaType",
		500: "InternalError", 503: "ServiceUnavailable",
	}[code]
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%s,"reason":%q,"code":%d}`, encode(message), reason, code)
}

// What cannot be judged is told in one sentence; failurePolicy then decides.
func TestServeHTTPRefuses(t *testing.T) {
	review := func(edit func(*admissionv1.AdmissionRequest)) string {
		req := syncOf(clusterOf(blocked), "prod").request()
		edit(&req)
		return string(reviewOf(req))
	}
	good := string(syncReview(blocked))
	const notReview = "the body is not an AdmissionReview: "
	for name, tc := range map[string]struct {
		method, query, contentType string // POST, none, application/json when left out
		body                       string
		length                     int64 // the Content-Length that is claimed, when not the body's own
		wantCode                   int
		wantText                   string
	}{
		"GET":                        {method: "GET", wantCode: 405, wantText: "an AdmissionReview is sent by POST"},
		"PUT":                        {method: "PUT", body: good, wantCode: 405, wantText: "an AdmissionReview is sent by POST"},
		"a lower-case post":          {method: "post", body: good, wantCode: 405, wantText: "an AdmissionReview is sent by POST"},
		"protobuf":                   {contentType: "application/vnd.kubernetes.protobuf", body: good, wantCode: 415, wantText: "the Content-Type has to be application/json"},
		"a form":                     {contentType: "application/x-www-form-urlencoded", body: good, wantCode: 415, wantText: "the Content-Type has to be application/json"},
		"no Content-Type":            {contentType: "-", body: good, wantCode: 415, wantText: "the Content-Type has to be application/json"},
		"a malformed Content-Type":   {contentType: "application/json; =", body: good, wantCode: 415, wantText: "the Content-Type has to be application/json"},
		"a timeout of no unit":       {query: "?timeout=5", body: good, wantCode: 400, wantText: `the query parameter timeout is not a positive duration: "5"`},
		"a negative timeout":         {query: "?timeout=-5s", body: good, wantCode: 400, wantText: `the query parameter timeout is not a positive duration: "-5s"`},
		"a timeout of nothing":       {query: "?timeout=0s", body: good, wantCode: 400, wantText: `the query parameter timeout is not a positive duration: "0s"`},
		"a timeout of other text":    {query: "?timeout=%0a%22", body: good, wantCode: 400, wantText: `the query parameter timeout is not a positive duration: "?\""`},
		"an empty body":              {wantCode: 400, wantText: notReview + "unexpected end of JSON input"},
		"text":                       {body: "hello", wantCode: 400, wantText: notReview + "invalid character 'h' looking for beginning of value"},
		"a truncated review":         {body: good[:len(good)/2], wantCode: 400, wantText: notReview + "unexpected end of JSON input"},
		"two reviews":                {body: good + good, wantCode: 400, wantText: notReview + "invalid character '{' after top-level value"},
		"a list":                     {body: "[]", wantCode: 400, wantText: notReview + "json: cannot unmarshal array into Go value of type v1.AdmissionReview"},
		"null":                       {body: "null", wantCode: 400, wantText: `the body is "" of "", not AdmissionReview of admission.k8s.io/v1: set admissionReviewVersions to [v1]`},
		"v1beta1":                    {body: strings.Replace(good, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), wantCode: 400, wantText: `the body is "AdmissionReview" of "admission.k8s.io/v1beta1", not AdmissionReview of admission.k8s.io/v1: set admissionReviewVersions to [v1]`},
		"another kind":               {body: strings.Replace(good, "AdmissionReview", "ConversionReview", 1), wantCode: 400, wantText: `the body is "ConversionReview" of "admission.k8s.io/v1", not AdmissionReview of admission.k8s.io/v1: set admissionReviewVersions to [v1]`},
		"no request":                 {body: `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, wantCode: 400, wantText: "the AdmissionReview has no request"},
		"a capital Request":          {body: strings.Replace(good, `"request":`, `"Request":`, 1), wantCode: 400, wantText: "the AdmissionReview has no request"},
		"a request that is null":     {body: `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}`, wantCode: 400, wantText: "the AdmissionReview has no request"},
		"a request without a uid":    {body: review(func(r *admissionv1.AdmissionRequest) { r.UID = "" }), wantCode: 400, wantText: "the AdmissionReview's request has no uid"},
		"another resource":           {body: review(func(r *admissionv1.AdmissionRequest) { r.Kind.Group, r.Kind.Kind = "apps", "Deployment" }), wantCode: 400, wantText: `stepgate judges Applications of argoproj.io, not Deployment of "apps": correct the rules of the ValidatingWebhookConfiguration`},
		"no object":                  {body: review(func(r *admissionv1.AdmissionRequest) { r.Object.Raw = nil }), wantCode: 400, wantText: "the request to UPDATE an Application has no object"},
		"an object that is a list":   {body: review(func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte("[]") }), wantCode: 400, wantText: "object is not an Application: json: cannot unmarshal array into Go value of type argocd.Application"},
		"an object that is a text":   {body: review(func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte(`"x"`) }), wantCode: 400, wantText: "object is not an Application: json: cannot unmarshal string into Go value of type argocd.Application"},
		"deep nesting":               {body: strings.Repeat("[", 100_000), wantCode: 400, wantText: notReview + "invalid character '[' exceeded max depth"},
		"a long body, announced":     {body: good, length: maxBody + 1, wantCode: 413, wantText: "the AdmissionReview is larger than 7340032 bytes"},
		"a long body, chunked":       {body: strings.Repeat(" ", maxBody+1), length: -1, wantCode: 413, wantText: "the AdmissionReview is larger than 7340032 bytes"},
		"a long body, understated":   {body: strings.Repeat(" ", maxBody+1), length: 10, wantCode: 413, wantText: "the AdmissionReview is larger than 7340032 bytes"},
		"the longest body is read":   {body: strings.Repeat(" ", maxBody), wantCode: 400, wantText: notReview + "unexpected end of JSON input"},
		"the method before the rest": {method: "GET", contentType: "text/plain", length: maxBody + 1, wantCode: 405, wantText: "an AdmissionReview is sent by POST"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := httptest.NewRequest(http.MethodPost, Path+tc.query, strings.NewReader(tc.body))
			r.Header.Set("Content-Type", "application/json")
			if tc.method != "" {
				r.Method = tc.method
			}
			if tc.contentType != "" {
				r.Header.Set("Content-Type", tc.contentType)
			}
			if tc.contentType == "-" {
				r.Header.Del("Content-Type")
			}
			if tc.length != 0 {
				r.ContentLength = tc.length
			}
			rw, trial := serve(untouchable{t}, r)
			g.Expect(rw.Code).To(Equal(tc.wantCode))
			g.Expect(rw.Body.String()).To(Equal(statusText(tc.wantCode, tc.wantText)))
			g.Expect(rw.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(rw.Header().Get("Allow") == "POST").To(Equal(tc.wantCode == 405))
			g.Expect(testutil.ToFloat64(trial.metrics.requests.WithLabelValues(fmt.Sprint(tc.wantCode)))).To(Equal(1.0))
			g.Expect(testutil.CollectAndCount(trial.metrics.requests)).To(Equal(1))
		})
	}
}

func TestServeHTTPTakes(t *testing.T) {
	for name, edit := range map[string]func(*http.Request){
		"no timeout":              func(r *http.Request) { r.URL.RawQuery = "" },
		"a charset":               func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") },
		"capitals in the type":    func(r *http.Request) { r.Header.Set("Content-Type", "Application/JSON") },
		"a body that is chunked":  func(r *http.Request) { r.ContentLength = -1 },
		"another query parameter": func(r *http.Request) { r.URL.RawQuery = "timeout=10s&a=b" },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := post(bytes.NewReader(syncReview(open)))
			edit(r)
			rw, _ := serve(clusterOf(open), r)
			g.Expect(rw.Code).To(Equal(200))
			g.Expect(rw.Body.String()).To(ContainSubstring(`"allowed":true`))
		})
	}
}

func TestServeHTTPDeletion(t *testing.T) {
	g := NewWithT(t)
	req := syncOf(clusterOf(blocked), "prod")
	req.before, req.after = req.after, nil
	rw, _ := serve(untouchable{t}, post(bytes.NewReader(reviewOf(req.request()))))
	g.Expect(rw.Code).To(Equal(200))
	g.Expect(rw.Body.String()).To(ContainSubstring(`"allowed":true`))
}

func TestServeHTTPReadError(t *testing.T) {
	g := NewWithT(t)
	c := clusterOf(open)
	c.failAt = 2
	rw, trial := serve(c, post(bytes.NewReader(syncReview(open))))
	g.Expect(rw.Code).To(Equal(503), "a review would reject even where failurePolicy is Ignore")
	g.Expect(rw.Body.String()).To(Equal(statusText(503, cannotDecide)))
	g.Expect(rw.Header().Get("Connection")).To(Equal("close"), "the next call shall go to another replica")
	g.Expect(testutil.ToFloat64(trial.metrics.requests.WithLabelValues("503"))).To(Equal(1.0))
}

// gateFunc is a Gate of one function.
type gateFunc func(context.Context, webhook.AdmissionRequest) webhook.AdmissionResponse

func (f gateFunc) Handle(ctx context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	return f(ctx, req)
}

func TestServeHTTPPanic(t *testing.T) {
	g := NewWithT(t)
	metrics := NewMetrics(prometheus.NewRegistry())
	rw := httptest.NewRecorder()
	gate := gateFunc(func(context.Context, webhook.AdmissionRequest) webhook.AdmissionResponse { panic("secret") })
	NewHandler(gate, metrics, logr.Discard()).ServeHTTP(rw, post(bytes.NewReader(syncReview(open))))
	g.Expect(rw.Code).To(Equal(500))
	g.Expect(rw.Body.String()).To(Equal(statusText(500, "stepgate failed; see its log")))
	g.Expect(testutil.ToFloat64(metrics.requests.WithLabelValues("500"))).To(Equal(1.0))
}

func TestServeHTTPDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		query string
		want  time.Duration
	}{
		"the API server's":            {"?timeout=10s", 7 * time.Second},
		"a short one":                 {"?timeout=1s", 700 * time.Millisecond},
		"the default":                 {"", 3500 * time.Millisecond},
		"an empty one is the default": {"?timeout=", 3500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var deadline time.Time
			gate := gateFunc(func(ctx context.Context, _ webhook.AdmissionRequest) webhook.AdmissionResponse {
				deadline, _ = ctx.Deadline()
				return webhook.AdmissionResponse{}
			})
			r := post(bytes.NewReader(syncReview(open)))
			r.URL.RawQuery = strings.TrimPrefix(tc.query, "?")
			start := time.Now()
			NewHandler(gate, NewMetrics(prometheus.NewRegistry()), logr.Discard()).ServeHTTP(httptest.NewRecorder(), r)
			g.Expect(deadline).To(BeTemporally(">=", start.Add(tc.want)))
			g.Expect(deadline).To(BeTemporally("<=", time.Now().Add(tc.want)))
		})
	}
}

// A caller that goes away ends the reads.
func TestServeHTTPCancelled(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var err error
	gate := gateFunc(func(ctx context.Context, _ webhook.AdmissionRequest) webhook.AdmissionResponse {
		err = ctx.Err()
		return webhook.AdmissionResponse{}
	})
	r := post(bytes.NewReader(syncReview(open))).WithContext(ctx)
	NewHandler(gate, NewMetrics(prometheus.NewRegistry()), logr.Discard()).ServeHTTP(httptest.NewRecorder(), r)
	g.Expect(err).To(MatchError(context.Canceled))
}

// A zero response denies.
func TestServeHTTPZeroResponse(t *testing.T) {
	g := NewWithT(t)
	rw := httptest.NewRecorder()
	gate := gateFunc(func(context.Context, webhook.AdmissionRequest) webhook.AdmissionResponse {
		return webhook.AdmissionResponse{}
	})
	NewHandler(gate, NewMetrics(prometheus.NewRegistry()), logr.Discard()).ServeHTTP(rw, post(bytes.NewReader(syncReview(open))))
	var review admissionv1.AdmissionReview
	g.Expect(json.Unmarshal(rw.Body.Bytes(), &review)).To(Succeed())
	g.Expect(review.Response.Allowed).To(BeFalse())
	g.Expect(review.Response.UID).To(BeEquivalentTo("request-uid"))
}
