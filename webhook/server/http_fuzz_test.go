// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"
)

// FuzzServeHTTP sends arbitrary requests to a handler that allows everything. The answer is a review for the uid that
// was sent, or a 4xx with a bounded text and without a call of the handler.
func FuzzServeHTTP(f *testing.F) {
	const query, media = "timeout=5s", "application/json"
	f.Add([]byte(good), query, media)
	f.Add([]byte(good), "", "application/json; charset=utf-8")
	f.Add([]byte(good), "timeout=%zz", media)
	f.Add([]byte(good), "timeout=-1ns&timeout=1s", media)
	f.Add([]byte(good), "timeout=\x00\u202e", "\x00/\xff; =")
	for n := 1; n < len(good); n += 31 {
		f.Add([]byte(good[:n]), query, media)
		f.Add([]byte(good[:n]+good[n+1:]), query, media)
	}
	for _, edit := range [][2]string{
		{`"uid":"`, `"uid":"x","uid":"`}, {`"uid":`, `"UID":"x","uid":`}, {`"uid":"request-uid"`, `"uid":null`}, {`"uid":"request-uid"`, `"uid":"\ud800"`},
		{`"request":`, `"request":null,"request":`}, {`"request":{`, `"request":[{`}, {`"kind":"AdmissionReview"`, "\"\u212aind\":\"AdmissionReview\""},
		{`admission.k8s.io/v1`, `admission.k8s.io/v1beta1`}, {`"dryRun":false`, `"dryRun":"false"`}, {`"object":{`, `"object":null,"x":{`}, {`{`, "\ufeff{"},
	} {
		f.Add([]byte(strings.Replace(good, edit[0], edit[1], 1)), query, media)
	}
	for _, open := range []string{"[", `{"a":`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":` + strings.Repeat("[", 100)} {
		f.Add([]byte(strings.Repeat(open, 100_000/len(open))), query, media)
	}
	for _, body := range []string{"", "null", "0", `""`, "{}", "[]", "true", "\x00", `{"request":{}}`} {
		f.Add([]byte(body), query, media)
	}
	f.Fuzz(answersOnce)
}

func answersOnce(t *testing.T, body []byte, query, media string) {
	calls := 0
	handler := admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		calls++
		return admission.Allowed("")
	})
	r := post(string(body))
	r.URL.RawQuery = query
	r.Header.Set("Content-Type", media)
	rw := httptest.NewRecorder()
	NewHandler(map[string]admission.Handler{path: handler}, counts{}, logr.Discard()).ServeHTTP(rw, r)
	if rw.Code != 200 {
		expectRefusal(t, rw, calls)
		return
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(rw.Body.Bytes(), &review); err != nil || review.Response == nil ||
		!review.Response.Allowed || calls != 1 {
		t.Fatalf("%d calls, answered with %s (%v)\n%q", calls, rw.Body, err, body)
	}
	// Read the uid in another way than the server does. A field that is unknown to the server may be there twice.
	var sent map[string]any
	if twice, err := kjson.UnmarshalStrict(body, &sent); err != nil || len(twice) > 0 {
		return
	}
	request, _ := sent["request"].(map[string]any)
	if uid := request["uid"]; uid != string(review.Response.UID) {
		t.Fatalf("sent uid %q, answered uid %q\n%q", uid, review.Response.UID, body)
	}
}

// expectRefusal expects a Status that explains a 4xx.
func expectRefusal(t *testing.T, rw *httptest.ResponseRecorder, calls int) {
	var status metav1.Status
	err := json.Unmarshal(rw.Body.Bytes(), &status)
	if err != nil || rw.Code < 400 || rw.Code > 499 || int(status.Code) != rw.Code || calls != 0 {
		t.Fatalf("HTTP %d after %d calls: %s (%v)", rw.Code, calls, rw.Body, err)
	}
	unprintable := strings.IndexFunc(status.Message, func(r rune) bool { return r < ' ' || r > '~' })
	if status.Message == "" || len(status.Message) > 8192 || unprintable >= 0 {
		t.Fatalf("HTTP %d with the text %q", rw.Code, status.Message)
	}
}
