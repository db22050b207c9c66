// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/stepgate/stepgate/test/scenario"
)

// The JSON of an object is read as the API server reads it, so that what is judged is what is stored.

func TestFieldNamesAreTakenToTheLetter(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new string
		// wantDenied says that the blocked operation is still seen; otherwise there is none in the object that is
		// stored.
		wantDenied bool
	}{
		"as it is":                               {"", "", true},
		"operation with a capital":               {`"operation":`, `"Operation":`, false},
		"operation in capitals":                  {`"operation":`, `"OPERATION":`, false},
		"a second operation in capitals":         {`"operation":`, `"OPERATION":null,"operation":`, true},
		"a second operation in capitals, behind": {`"status":{`, `"OPERATION":null,"Operation":{"sync":{"dryRun":true}},"status":{`, true},
		"metadata with a capital":                {`"metadata":`, `"metaData":{},"metadata":`, true},
		"dryRun in lower case":                   {`"sync":{`, `"sync":{"dryrun":true,"DryRun":true,`, true},
		"ownerReferences with U+017F":            {`"ownerReferences":`, "\"ownerReference\u017f\":[],\"ownerReferences\":", true},
		"labels with U+017F":                     {`"labels":`, "\"label\u017f\":{},\"labels\":", true},
		"kind with U+212A":                       {`"kind":"ApplicationSet"`, "\"\u212aind\":\"Other\",\"kind\":\"ApplicationSet\"", true},
		"sync with U+017F":                       {`"sync":{"syncOptions"`, "\"\u017fync\":{\"dryRun\":true},\"sync\":{\"syncOptions\"", true},
		"an escaped name":                        {`"operation":`, `"\u006fperation":`, true},
		"a name that JSON never had":             {`"operation":`, `"operation\u0000":{},"operation":`, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(blocked)
			req := scenario.SyncOf(c, "prod").Request()
			if tc.old != "" {
				g.Expect(string(req.Object.Raw)).To(ContainSubstring(tc.old))
				req.Object.Raw = bytes.Replace(req.Object.Raw, []byte(tc.old), []byte(tc.new), 1)
			}
			resp := newTrial(scenario.Config(), c).handle(req)
			g.Expect(resp.Allowed).To(Equal(!tc.wantDenied))
			if tc.wantDenied {
				g.Expect(resp.Result.Message).To(Equal(qaDegraded))
			} else {
				g.Expect(resp.AuditAnnotations).To(HaveKeyWithValue("reason", "NotAnOperationWrite"))
			}
		})
	}
}

// An API server decodes what a client sends and encodes it again, so that a name cannot arrive twice from it. Decoders
// differ in which of the two they keep, so that nothing may rest on it.
func TestDuplicateNamesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ extra, wantField string }{
		"an operation before the operation": {`{"operation":{"sync":{"prune":true}},`, "operation"},
		"no operation before the operation": {`{"operation":null,`, "operation"},
		"another step before the labels":    {`{"metadata":{"labels":{"step":"1"}},`, "metadata"},
		"a dry run before the operation":    {`{"operation":{"sync":{"dryRun":true}},`, "operation"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(blocked)
			req := scenario.SyncOf(c, "prod").Request()
			req.Object.Raw = append([]byte(tc.extra), req.Object.Raw[1:]...)
			resp := newTrial(scenario.Config(), c).handle(req)
			g.Expect(resp.Allowed).To(BeFalse())
			g.Expect(resp.Result.Code).To(BeEquivalentTo(400))
			g.Expect(resp.Result.Message).To(Equal("object is not an Application: duplicate field \"" + tc.wantField + "\""))
		})
	}
	t.Run("within the operation", func(t *testing.T) {
		g := NewWithT(t)
		c := scenario.Of(blocked)
		req := scenario.SyncOf(c, "prod").Request()
		req.Object.Raw = []byte(`{"metadata":{},"operation":{"sync":{"dryRun":true,"dryRun":false}}}`)
		resp := newTrial(scenario.Config(), c).handle(req)
		g.Expect(resp.Result.Code).To(BeEquivalentTo(400))
	})
}

// What Argo CD's types do not have here may still be what a later Argo CD acts upon.
func TestAChangeOfAnUnknownFieldIsAnOperationWrite(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of(blocked)
	req := scenario.SyncOf(c, "prod").Request()
	req.OldObject.Raw = req.Object.Raw
	g.Expect(newTrial(scenario.Config(), c).handle(req).AuditAnnotations).To(HaveKeyWithValue("reason",
		"NotAnOperationWrite"))

	req.Object.Raw = []byte(strings.Replace(string(req.Object.Raw), `"operation":{`, `"operation":{"future":1,`, 1))
	g.Expect(newTrial(scenario.Config(), c).handle(req).Allowed).To(BeFalse())
}

func TestSpellingsOfNoOperation(t *testing.T) {
	for name, tc := range map[string]struct {
		operation  string
		wantReason string
	}{
		"null is no operation":             {`null`, "NotAnOperationWrite"},
		"an empty one is an operation":     {`{}`, "NotHealthy"},
		"one without a sync is one":        {`{"sync":null}`, "NotHealthy"},
		"one that only has a retry is one": {`{"retry":{"limit":1}}`, "NotHealthy"},
		"unknown fields do not hide it":    {`{"future":true}`, "NotHealthy"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(blocked)
			req := scenario.SyncOf(c, "prod").Request()
			req.Object.Raw = append([]byte(`{"operation":`+tc.operation+`,`), req.OldObject.Raw[1:]...)
			resp := newTrial(scenario.Config(), c).handle(req)
			g.Expect(resp.Allowed).To(Equal(tc.wantReason == "NotAnOperationWrite"))
			g.Expect(resp.AuditAnnotations).To(HaveKeyWithValue("reason", tc.wantReason))
		})
	}
}

func TestObjectsThatAreNoApplications(t *testing.T) {
	const decoded = "object is not an Application: "
	for name, tc := range map[string]struct {
		edit        func(*admissionv1.AdmissionRequest)
		wantMessage string
	}{
		"another kind": {
			func(r *admissionv1.AdmissionRequest) { r.Kind.Kind = "AppProject" },
			`stepgate judges Applications of argoproj.io, not AppProject of "argoproj.io": correct the rules of the ValidatingWebhookConfiguration`,
		},
		"another group": {
			func(r *admissionv1.AdmissionRequest) { r.Kind.Group = "app.k8s.io" },
			`stepgate judges Applications of argoproj.io, not Application of "app.k8s.io": correct the rules of the ValidatingWebhookConfiguration`,
		},
		"no object in an update": {
			func(r *admissionv1.AdmissionRequest) { r.Object.Raw = nil }, "the request to UPDATE an Application has no object",
		},
		"null as the object of a create": {
			func(r *admissionv1.AdmissionRequest) { r.Operation, r.Object.Raw = "CREATE", []byte("null") },
			"the request to CREATE an Application has no object",
		},
		"a list": {
			func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte("[]") },
			decoded + "json: cannot unmarshal array into Go value of type argocd.Application",
		},
		"a text as operation": {
			func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte(`{"operation":"sync"}`) },
			decoded + "json: cannot unmarshal string into Go struct field Application.operation of type v1alpha1.Operation",
		},
		"a broken old object": {
			func(r *admissionv1.AdmissionRequest) { r.OldObject.Raw = []byte(`{"metadata":{"labels":{"step":3}}}`) },
			"oldObject is not an Application: labels or annotations: json: cannot unmarshal number into Go value of type string",
		},
		"deep nesting": {
			func(r *admissionv1.AdmissionRequest) {
				r.Object.Raw = []byte(`{"operation":` + strings.Repeat(`{"a":`, 100_000) + `1` + strings.Repeat(`}`, 100_001))
			},
			decoded + "invalid character '{' exceeded max depth",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			trial := newTrial(scenario.Config(), scenario.Untouchable{T: t})
			req := scenario.SyncOf(scenario.Of(blocked), "prod").Request()
			tc.edit(&req)
			resp := trial.handle(req)
			g.Expect(resp.Allowed).To(BeFalse())
			g.Expect(resp.Result.Code).To(BeEquivalentTo(400))
			g.Expect(resp.Result.Message).To(Equal(tc.wantMessage))
			g.Expect(trial.posted()).To(BeEmpty())
		})
	}
}
