// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// These tests serve every kind of handler that controller-runtime offers.

// validator is a Validator with one verdict for every operation.
type validator[T runtime.Object] struct {
	warnings admission.Warnings
	err      error
}

func (v validator[T]) ValidateCreate(context.Context, T) (admission.Warnings, error) {
	return v.warnings, v.err
}
func (v validator[T]) ValidateUpdate(context.Context, T, T) (admission.Warnings, error) {
	return v.warnings, v.err
}
func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return v.warnings, v.err
}

// defaulter sets the data of a ConfigMap, or fails.
type defaulter[T runtime.Object] struct {
	data map[string]string
	err  error
}

func (d defaulter[T]) Default(_ context.Context, obj T) error {
	if d.data != nil {
		any(obj).(*corev1.ConfigMap).Data = d.data
	}
	return d.err
}

func validating(err error, warnings ...string) admission.Handler {
	return admission.WithValidator(testScheme(), validator[*corev1.ConfigMap]{warnings, err})
}

func defaulting(data map[string]string, err error) admission.Handler {
	return admission.WithDefaulter(testScheme(), defaulter[*corev1.ConfigMap]{data, err})
}

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return scheme
}

func jsonOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestResponsesThatAreReviews(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	recolored := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"color":"green"}}`)
	add := jsonpatch.NewOperation("add", "/data/size", "xl")
	audited := admission.Denied("no")
	audited.AuditAnnotations = map[string]string{"rule": "7"}
	whole := admission.Allowed("")
	patchType := admissionv1.PatchTypeJSONPatch
	whole.Patch, whole.PatchType = []byte(`[{"op":"remove","path":"/data"}]`), &patchType
	const replaced = `[{"op":"replace","path":"/data/color","value":"green"}]`

	for name, tc := range map[string]struct {
		handler admission.Handler
		want    string // the whole response
		patch   string
	}{
		"Allowed":                           {handler: answering(admission.Allowed("")), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200}}`},
		"Allowed with a message":            {handler: answering(admission.Allowed("fine")), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"message":"fine","code":200}}`},
		"Allowed with warnings":             {handler: answering(admission.Allowed("").WithWarnings("old", "odd")), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},"warnings":["old","odd"]}`},
		"an allow whose code is an error's": {handler: answering(admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true, Result: &metav1.Status{Code: 500}}}), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":500}}`},
		"an allow without a result":         {handler: answering(admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true}}), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200}}`},
		"Denied":                            {handler: answering(admission.Denied("not blue")), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"message":"not blue","reason":"Forbidden","code":403}}`},
		"Denied without a message":          {handler: answering(admission.Denied("")), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"reason":"Forbidden","code":403}}`},
		"Denied with warnings":              {handler: answering(admission.Denied("no").WithWarnings("w")), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"message":"no","reason":"Forbidden","code":403},"warnings":["w"]}`},
		"Denied with audit annotations":     {handler: answering(audited), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"message":"no","reason":"Forbidden","code":403},"auditAnnotations":{"rule":"7"}}`},
		"a zero response denies":            {handler: answering(admission.Response{}), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"code":200}}`},
		"Errored with another client code":  {handler: answering(admission.Errored(http.StatusUnprocessableEntity, errors.New("no such color"))), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"message":"no such color","code":422}}`},
		"Patched":                           {handler: answering(admission.Patched("", add)), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},"patchType":"JSONPatch"}`, patch: `[{"op":"add","path":"/data/size","value":"xl"}]`},
		"Patched with a message":            {handler: answering(admission.Patched("sized", add)), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"message":"sized","code":200},"patchType":"JSONPatch"}`, patch: `[{"op":"add","path":"/data/size","value":"xl"}]`},
		"Patched without patches":           {handler: answering(admission.Patched("")), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200}}`},
		"a patch of its own":                {handler: answering(whole), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},"patchType":"JSONPatch"}`, patch: `[{"op":"remove","path":"/data"}]`},
		"PatchResponseFromRaw": {handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
			return admission.PatchResponseFromRaw(r.Object.Raw, recolored)
		}), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},"patchType":"JSONPatch"}`,
			patch: replaced},
		"PatchResponseFromRaw of no change": {handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
			return admission.PatchResponseFromRaw(r.Object.Raw, r.Object.Raw)
		}), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200}}`},
		"a Webhook":                        {handler: &admission.Webhook{Handler: answering(admission.Patched("", add))}, want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},"patchType":"JSONPatch"}`, patch: `[{"op":"add","path":"/data/size","value":"xl"}]`},
		"a validating chain":               {handler: admission.MultiValidatingHandler(answering(admission.Allowed("").WithWarnings("w")), answering(admission.Denied("second"))), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"message":"second","reason":"Forbidden","code":403}}`},
		"a mutating chain":                 {handler: admission.MultiMutatingHandler(answering(admission.Patched("", add)), answering(admission.Allowed(""))), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},"patchType":"JSONPatch"}`, patch: `[{"op":"add","path":"/data/size","value":"xl"}]`},
		"a validator that accepts":         {handler: validating(nil), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200}}`},
		"a validator that warns":           {handler: validating(nil, "old"), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},"warnings":["old"]}`},
		"a validator that rejects":         {handler: validating(errors.New("not blue"), "old"), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"message":"not blue","reason":"Forbidden","code":403},"warnings":["old"]}`},
		"a validator's Conflict":           {handler: validating(apierrors.NewConflict(configMaps, "settings", errors.New("taken"))), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"status":"Failure","message":"Operation cannot be fulfilled on configmaps \"settings\": taken","reason":"Conflict","details":{"name":"settings","kind":"configmaps"},"code":409}}`},
		"a validator's Invalid":            {handler: validating(apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "settings", nil)), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"status":"Failure","message":"ConfigMap \"settings\" is invalid","reason":"Invalid","details":{"name":"settings","kind":"ConfigMap"},"code":422}}`},
		"a validator's BadRequest":         {handler: validating(apierrors.NewBadRequest("not blue")), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"status":"Failure","message":"not blue","reason":"BadRequest","code":400}}`},
		"a custom validator":               {handler: admission.WithCustomValidator(testScheme(), &corev1.ConfigMap{}, validator[runtime.Object]{err: errors.New("not blue")}), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"message":"not blue","reason":"Forbidden","code":403}}`}, //nolint:staticcheck // deprecated, but still in use
		"a defaulter that changes":         {handler: defaulting(map[string]string{"color": "green"}, nil), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},"patchType":"JSONPatch"}`, patch: replaced},
		"a defaulter that changes nothing": {handler: defaulting(nil, nil), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200}}`},
		"a defaulter that rejects":         {handler: defaulting(nil, errors.New("not blue")), want: `{"uid":"request-uid","allowed":false,"status":{"metadata":{},"message":"not blue","reason":"Forbidden","code":403}}`},
		"a custom defaulter":               {handler: admission.WithCustomDefaulter(testScheme(), &corev1.ConfigMap{}, defaulter[runtime.Object]{data: map[string]string{"color": "green"}}), want: `{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},"patchType":"JSONPatch"}`, patch: replaced},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			requests := counts{}
			rw := serve(tc.handler, requests, post(good))
			g.Expect(rw.Code).To(Equal(200), rw.Body.String())
			g.Expect(rw.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(rw.Header()).NotTo(HaveKey("Connection"))
			var review admissionv1.AdmissionReview
			g.Expect(json.Unmarshal(rw.Body.Bytes(), &review)).To(Succeed())
			g.Expect(review.TypeMeta).To(Equal(metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}))
			g.Expect(review.Request).To(BeNil())
			g.Expect(string(review.Response.Patch)).To(Equal(tc.patch))
			review.Response.Patch = nil
			g.Expect(jsonOf(review.Response)).To(Equal(tc.want))
			g.Expect(requests).To(Equal(counts{"/validate 200": 1}))
		})
	}
}

// The API server applies failurePolicy to an HTTP error and shows the text of its Status.
func TestResponsesThatAreHTTPErrors(t *testing.T) {
	status := func(message, reason, details string, code string) string {
		return `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":` + jsonOf(message) +
			`,"reason":"` + reason + `",` + details + `"code":` + code + `}`
	}
	lost := errors.New("the database is gone")
	const internal = `"details":{"causes":[{"message":"the database is gone"}]},`
	for name, tc := range map[string]struct {
		handler  admission.Handler
		body     string // good when left out
		wantCode int
		want     string
	}{
		"Errored 500":                              {handler: answering(admission.Errored(500, lost)), wantCode: 500, want: status("the database is gone", "InternalError", "", "500")},
		"Errored 503":                              {handler: answering(admission.Errored(503, lost)), wantCode: 503, want: status("the database is gone", "ServiceUnavailable", "", "503")},
		"Errored 400":                              {handler: answering(admission.Errored(400, errors.New("no object"))), wantCode: 400, want: status("no object", "BadRequest", "", "400")},
		"Errored without a text":                   {handler: answering(admission.Errored(503, errors.New(""))), wantCode: 503, want: status("Service Unavailable", "ServiceUnavailable", "", "503")},
		"Errored with a code of no HTTP":           {handler: answering(admission.Errored(1000, lost)), wantCode: 500, want: status("the database is gone", "InternalError", "", "500")},
		"a Webhook's Errored":                      {handler: &admission.Webhook{Handler: answering(admission.Errored(503, lost))}, wantCode: 503, want: status("the database is gone", "ServiceUnavailable", "", "503")},
		"a Webhook's panic":                        {handler: &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { panic("x") })}, wantCode: 500, want: status("panic: x [recovered]", "InternalError", "", "500")},
		"a chain in which one fails":               {handler: admission.MultiValidatingHandler(answering(admission.Allowed("")), answering(admission.Errored(503, lost))), wantCode: 503, want: status("the database is gone", "ServiceUnavailable", "", "503")},
		"a validator's InternalError":              {handler: validating(apierrors.NewInternalError(lost)), wantCode: 500, want: status("Internal error occurred: the database is gone", "InternalError", internal, "500")},
		"a validator's Timeout":                    {handler: validating(apierrors.NewTimeoutError("too slow", 0)), wantCode: 504, want: status("Timeout: too slow", "Timeout", `"details":{},`, "504")},
		"a defaulter's ServiceUnavailable":         {handler: defaulting(nil, apierrors.NewServiceUnavailable("gone")), wantCode: 503, want: status("gone", "ServiceUnavailable", "", "503")},
		"an object that a validator cannot decode": {handler: validating(nil), body: strings.Replace(good, `"data":{"color":"blue"}`, `"data":3`, 1), wantCode: 400, want: status("json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string", "BadRequest", "", "400")},
		"a response that cannot be encoded":        {handler: answering(admission.Patched("", jsonpatch.NewOperation("add", "/data", make(chan int)))), wantCode: 500, want: status("stepgate failed; see its log", "InternalError", "", "500")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			body := tc.body
			if body == "" {
				body = good
			}
			requests := counts{}
			rw := serve(tc.handler, requests, post(body))
			g.Expect(rw.Code).To(Equal(tc.wantCode))
			g.Expect(rw.Body.String()).To(Equal(tc.want))
			g.Expect(rw.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(rw.Header().Get("Connection") == "close").To(Equal(tc.wantCode >= 500),
				"the next call shall go to another replica")
			g.Expect(requests).To(HaveLen(1))
		})
	}
}
