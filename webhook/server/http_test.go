// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// path is where the tests serve their handler.
const path = "/validate"

// good is the body that an API server sends for the update of an object.
const good = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"request-uid",` +
	`"kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},` +
	`"name":"settings","namespace":"shop","operation":"UPDATE","userInfo":{"username":"jane"},` +
	`"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"color":"blue"}},` +
	`"oldObject":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"color":"red"}},"dryRun":false}}`

// counts are the answered requests by path and code.
type counts map[string]int

func (c counts) Count(path string, code int) { c[fmt.Sprintf("%s %d", path, code)]++ }

// answering is a handler that always gives one response.
func answering(resp admission.Response) admission.Handler {
	return admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return resp })
}

// post is a call of an API server.
func post(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path+"?timeout=5s", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

// serve answers one call.
func serve(handler admission.Handler, requests Counter, r *http.Request) *httptest.ResponseRecorder {
	rw := httptest.NewRecorder()
	NewHandler(map[string]admission.Handler{path: handler}, requests, logr.Discard()).ServeHTTP(rw, r)
	return rw
}

// statusText is the Status from which an API server takes the message of a failed call.
func statusText(code int, message string) string {
	reason := map[int]string{
		400: "BadRequest", 405: "MethodNotAllowed", 413: "RequestEntityTooLarge", 415: "UnsupportedMediaType",
		500: "InternalError", 503: "ServiceUnavailable",
	}[code]
	return fmt.Sprintf(
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%s,"reason":%q,"code":%d}`, jsonOf(message), reason, code,
	)
}

// The answer to a request that cannot be read says why in one sentence. The API server then applies failurePolicy.
func TestServeHTTPRefuses(t *testing.T) {
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
		"a timeout of other text":    {query: "?timeout=%0a%22", body: good, wantCode: 400, wantText: `the query parameter timeout is not a positive duration: "\n\""`},
		"a long timeout":             {query: "?timeout=" + strings.Repeat("x", 5000), body: good, wantCode: 400, wantText: `the query parameter timeout is not a positive duration: "` + strings.Repeat("x", 100) + `"`},
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
		"a request without a uid":    {body: strings.Replace(good, `"uid":"request-uid"`, `"uid":""`, 1), wantCode: 400, wantText: "the AdmissionReview's request has no uid"},
		"another uid before the uid": {body: strings.Replace(good, `"uid":`, `"uid":"x","uid":`, 1), wantCode: 400, wantText: notReview + `duplicate field "request.uid"`},
		"two requests":               {body: strings.Replace(good, `"request":`, `"request":{"uid":"x"},"request":`, 1), wantCode: 400, wantText: notReview + `duplicate field "request"`},
		"a hostile field":            {body: strings.Replace(good, `"username":`, `"extra":{"\u001b[2K\u202e":[],"\u001b[2K\u202e":[]},"username":`, 1), wantCode: 400, wantText: notReview + `duplicate field "request.userInfo.extra.\\x1b[2K\\u202e"`},
		"a long kind":                {body: strings.Replace(good, "AdmissionReview", strings.Repeat("x", 5000), 1), wantCode: 400, wantText: `the body is "` + strings.Repeat("x", 100) + `" of "admission.k8s.io/v1", not AdmissionReview of admission.k8s.io/v1: set admissionReviewVersions to [v1]`},
		"deep nesting":               {body: strings.Repeat("[", 100_000), wantCode: 400, wantText: notReview + "invalid character '[' exceeded max depth"},
		"a long body, announced":     {body: good, length: maxBody + 1, wantCode: 413, wantText: "the AdmissionReview is larger than 7340032 bytes"},
		"a long body, chunked":       {body: strings.Repeat(" ", maxBody+1), length: -1, wantCode: 413, wantText: "the AdmissionReview is larger than 7340032 bytes"},
		"a long body, understated":   {body: strings.Repeat(" ", maxBody+1), length: 10, wantCode: 413, wantText: "the AdmissionReview is larger than 7340032 bytes"},
		"the longest body is read":   {body: strings.Repeat(" ", maxBody), wantCode: 400, wantText: notReview + "unexpected end of JSON input"},
		"the method before the rest": {method: "GET", contentType: "text/plain", length: maxBody + 1, wantCode: 405, wantText: "an AdmissionReview is sent by POST"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := httptest.NewRequest(http.MethodPost, path+tc.query, strings.NewReader(tc.body))
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
			requests := counts{}
			rw := serve(untouched(t), requests, r)
			g.Expect(rw.Code).To(Equal(tc.wantCode))
			g.Expect(rw.Body.String()).To(Equal(statusText(tc.wantCode, tc.wantText)))
			g.Expect(rw.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(rw.Header().Get("Allow") == "POST").To(Equal(tc.wantCode == 405))
			g.Expect(requests).To(Equal(counts{fmt.Sprintf("%s %d", path, tc.wantCode): 1}))
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
			r := post(good)
			edit(r)
			rw := serve(answering(admission.Allowed("")), counts{}, r)
			g.Expect(rw.Code).To(Equal(200))
			g.Expect(rw.Body.String()).To(ContainSubstring(`"allowed":true`))
		})
	}
}

func TestServeHTTPPanic(t *testing.T) {
	g := NewWithT(t)
	requests := counts{}
	handler := admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { panic("secret") })
	rw := serve(handler, requests, post(good))
	g.Expect(rw.Code).To(Equal(500))
	g.Expect(rw.Body.String()).To(Equal(statusText(500, "stepgate failed; see its log")))
	g.Expect(rw.Header().Get("Connection")).To(Equal("close"), "the next call shall go to another replica")
	g.Expect(requests).To(Equal(counts{"/validate 500": 1}))
}

// A fault leaves one line at error level: its answer tells the API server to look there.
func TestServeHTTPLogsFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		handler admission.HandlerFunc
		want    string
	}{
		"a panic": {func(context.Context, admission.Request) admission.Response { panic("nil map") }, `"msg"="panic while handling a request" "error"="panic: nil map"`},
		"a response that cannot be encoded": {func(context.Context, admission.Request) admission.Response {
			return admission.Patched("", jsonpatch.NewOperation("add", "/data", make(chan int)))
		}, `"msg"="response of a handler cannot be encoded" "error"="json: error calling MarshalJSON`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var lines []string
			log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
			NewHandler(map[string]admission.Handler{path: tc.handler}, counts{}, log).ServeHTTP(httptest.NewRecorder(),
				post(good))
			g.Expect(lines).To(ConsistOf(ContainSubstring(tc.want)))
		})
	}
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
			handler := admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
				deadline, _ = ctx.Deadline()
				return admission.Response{}
			})
			r := post(good)
			r.URL.RawQuery = strings.TrimPrefix(tc.query, "?")
			start := time.Now()
			serve(handler, counts{}, r)
			g.Expect(deadline).To(BeTemporally(">=", start.Add(tc.want)))
			g.Expect(deadline).To(BeTemporally("<=", time.Now().Add(tc.want)))
		})
	}
}

// The context of the handler ends when the caller goes away.
func TestServeHTTPCancelled(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	handler := admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
		cancel()
		err = ctx.Err()
		return admission.Response{}
	})
	r := post(good).WithContext(ctx)
	serve(handler, counts{}, r)
	g.Expect(err).To(MatchError(context.Canceled))
}

// Text of a client reaches the log as printable ASCII of bounded length, one line for each request.
func TestServeHTTPLogsHostileText(t *testing.T) {
	const hostile = "x\nforged\r\x1b[2K\x00\u202e\xff"
	long := strings.Repeat("€", 100_000)
	for name, tc := range map[string]struct {
		handler admission.Handler
		edit    func(*http.Request)
		old     string // replaced by hostile text, then by long text
	}{
		"the uid":                {old: "request-uid"},
		"the namespace":          {old: "shop"},
		"the user":               {old: "jane"},
		"the kind of the review": {old: "AdmissionReview"},
		"a handler's bad request": {handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
			return admission.Errored(400, fmt.Errorf("bad %s", r.Name))
		}), old: "settings"},
		"a panic": {handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response { panic(r.Name) }), old: "settings"},
	} {
		for _, text := range []string{hostile, long} {
			t.Run(name+" of "+strconv.Itoa(len(text))+" bytes", func(t *testing.T) {
				g := NewWithT(t)
				var lines []string
				log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 9})
				handler := tc.handler
				if handler == nil {
					handler = admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
						logr.FromContextOrDiscard(ctx).Info("seen")
						return admission.Allowed("")
					})
				}
				body := strings.ReplaceAll(good, tc.old, strings.Trim(jsonOf(text), `"`))
				NewHandler(map[string]admission.Handler{path: handler}, counts{}, log).ServeHTTP(httptest.NewRecorder(), post(body))
				g.Expect(lines).NotTo(BeEmpty())
				for _, line := range lines {
					g.Expect(strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' })).To(Equal(-1), "%q", line)
					g.Expect(len(line)).To(BeNumerically("<", 16<<10))
				}
			})
		}
	}
}
