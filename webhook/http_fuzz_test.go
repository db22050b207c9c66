// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/stepgate/stepgate/test/scenario"
)

// FuzzServeHTTP sends arbitrary bodies. The answer is HTTP 200 or a 4xx, and no body whose object is still the blocked
// operation write, as an API server would store it, is answered with an allow.
func FuzzServeHTTP(f *testing.F) {
	denied := syncReview(blocked)
	created := scenario.SyncOf(scenario.Of(blocked), "prod")
	created.Before = nil
	f.Add(denied)
	f.Add(syncReview(open))
	f.Add(reviewOf(created.Request()))
	f.Add(reviewOf(withSlots(scenario.SyncOf(scenario.Of(blocked), "prod")).Request()))
	for n := 1; n < len(denied); n += 97 {
		f.Add(denied[:n])
		f.Add(append(bytes.Clone(denied[:n]), denied[n+1:]...))
	}
	for _, edit := range [][2]string{
		{`"operation":`, `"Operation":`}, {`"operation":{`, `"operation":null,"operation":{`}, {`"operation":{`, `"operation":{},"x":{`},
		{`"controller":true`, `"controller":"true"`}, {`"step":"3"`, `"step":3`}, {`"step":"3"`, `"step":"1"`}, {`"uid":"request-uid"`, `"uid":null`},
		{`"object":{`, `"object":null,"x":{`}, {`"oldObject":{`, `"oldObject":[{`}, {`"ownerReferences":`, "\"ownerReference\u017f\":"},
		{`"sync":{`, `"sync":{"dryRun":true,`}, {`"sync":{`, `"sync":{"dryRun":"true",`}, {`"UPDATE"`, `"DELETE"`}, {`"UPDATE"`, `"CONNECT"`},
		{`"info":[`, `"info":[null,`}, {`"revision":"a`, `"revision":"\ud800a`}, {`{`, "\ufeff{"},
	} {
		f.Add(bytes.ReplaceAll(denied, []byte(edit[0]), []byte(edit[1])))
	}
	for _, open := range []string{"[", `{"a":`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":` + strings.Repeat("[", 100)} {
		f.Add([]byte(strings.Repeat(open, 100_000/len(open))))
	}
	for _, body := range []string{"", "null", "0", `""`, "{}", "[]", "true", "\x00", "{\"request\":{}}",
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":[]}`} {
		f.Add([]byte(body))
	}

	wanted := operationOf(f, denied)
	if wanted == nil {
		f.Fatal("the oracle does not see the operation write")
	}
	f.Fuzz(func(t *testing.T, body []byte) { neverAllows(t, body, wanted) })
}

// neverAllows serves a body; it fails when the answer is neither HTTP 200 nor a 4xx, or when it allows the wanted
// write. It reports whether the body still was that write.
func neverAllows(t *testing.T, body []byte, wanted *blockedWrite) bool {
	rw, _ := serve(scenario.Of(blocked), post(bytes.NewReader(body)))
	if rw.Code != 200 && (rw.Code < 400 || rw.Code > 499) {
		t.Fatalf("HTTP %d: %s\n%q", rw.Code, rw.Body, body)
	}
	if rw.Code != 200 {
		return false
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(rw.Body.Bytes(), &review); err != nil {
		t.Fatalf("the answer is no review: %v\n%q", err, body)
	}
	still := reflect.DeepEqual(operationOf(t, body), wanted)
	if still && review.Response.Allowed {
		t.Fatalf("the blocked operation write was allowed:\n%q", body)
	}
	return still
}

// The same with random edits of a denied review: Go's own fuzzing is slow here, because it resets the coverage of all
// that Argo CD's types import with each run.
func TestServeHTTPRandomEdits(t *testing.T) {
	denied := syncReview(blocked)
	wanted := operationOf(t, denied)
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.FieldsFunc(string(denied), func(r rune) bool { return strings.ContainsRune(`{}[]:,"`, r) })
	words = append(words, "null", "true", "false", "0", "1", `""`, "{", "}", "[", "]", ",", ":", `"`, "\\u0000",
		"Operation", "dryRun", "manifests", "\u017f", "\u212a", "\xff")
	still, rounds := 0, 3000
	for range rounds {
		body := bytes.Clone(denied)
		for range 1 + random.IntN(3) {
			at := random.IntN(len(body))
			to := min(at+random.IntN(12), len(body))
			word := []byte(words[random.IntN(len(words))])
			switch random.IntN(5) {
			case 0:
				body[at] = byte(random.Uint32())
			case 1:
				body = slices.Delete(body, at, to)
			case 2:
				body = slices.Insert(body, at, word...)
			case 3:
				body = bytes.Replace(body, word, []byte(words[random.IntN(len(words))]), 1)
			case 4:
				body = slices.Insert(body, at, bytes.Clone(body[at:to])...)
			}
		}
		if neverAllows(t, body, wanted) {
			still++
		}
	}
	NewWithT(t).Expect(still).To(BeNumerically(">", rounds/20), "some edits leave the write what it is")
}

// blockedWrite is what makes a write the blocked one: who is judged, by what, and for which operation.
type blockedWrite struct {
	namespace, name, uid, step string
	owners                     []metav1.OwnerReference
	operation                  argo.Operation
}

// operationOf reads a review in another way than stepgate does: as an API server does, it decodes to untyped values,
// refuses names that arrive twice, and encodes again; the result is then decoded as the typed Argo CD object. It is nil
// when there is no operation write in it.
func operationOf(t testing.TB, body []byte) *blockedWrite {
	t.Helper()
	var review map[string]any
	if twice, err := kjson.UnmarshalStrict(body, &review); err != nil || len(twice) > 0 {
		return nil
	}
	request, _ := review["request"].(map[string]any)
	namespace, _ := request["namespace"].(string)
	var app, before argo.Application
	for field, into := range map[string]*argo.Application{"object": &app, "oldObject": &before} {
		if kjson.UnmarshalCaseSensitivePreserveInts(scenario.Encode(request[field]), into) != nil {
			return nil
		}
	}
	if app.Operation == nil || reflect.DeepEqual(app.Operation, before.Operation) {
		return nil
	}
	return &blockedWrite{
		namespace: namespace, name: app.Name, uid: string(app.UID), step: app.Labels["step"],
		owners: app.OwnerReferences, operation: *app.Operation,
	}
}
