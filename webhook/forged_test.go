// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// What an operation is judged by cannot be brought along in the same write: the status is taken from before it.

func TestAHistoryOfTheSameWriteIsNoRollback(t *testing.T) {
	c := scenario.Of(blocked)
	a := scenario.SyncOf(c, "prod")
	before := a.Before.DeepCopy()
	rollback(a)
	a.Before = before
	a.User = "kubernetes-admin"
	NewWithT(t).Expect(newTrial(scenario.Config(), c).handle(a.Request()).Allowed).To(BeFalse())
}

func TestAComparisonOfTheSameWriteDoesNotCount(t *testing.T) {
	c := scenario.Of("1:dev=Healthy@a 2:qa=Healthy@b 3:prod=Healthy@b")
	a := scenario.SyncOf(c, "prod")
	a.After.Status.Sync.Revision = ""
	resp := newTrial(scenario.Config(), c).handle(a.Request())
	NewWithT(t).Expect(resp.Allowed).To(BeFalse(), "%v", resp.AuditAnnotations)
}

func TestAnUnknownOutcomeIsDenied(t *testing.T) {
	NewWithT(t).Expect(answer(ofMode(settings.Enforce, policy.Outcome(7), nil)).Allowed).To(BeFalse())
}

// Whoever reaches the port can send anything; neither the log nor the answer grows with it.
func TestLongTextIsCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, edit := range map[string]func(*admissionv1.AdmissionRequest){
		"kind":  func(r *admissionv1.AdmissionRequest) { r.Kind.Kind = long },
		"group": func(r *admissionv1.AdmissionRequest) { r.Kind.Group = long },
		"name":  func(r *admissionv1.AdmissionRequest) { r.Name = long },
		"user":  func(r *admissionv1.AdmissionRequest) { r.UserInfo.Username = long },
		"label": func(r *admissionv1.AdmissionRequest) {
			r.Object.Raw = []byte(`{"metadata":{"labels":{"` + long + `":1}}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			req := scenario.SyncOf(scenario.Of(blocked), "prod").Request()
			edit(&req)
			logged := 0
			log := funcr.New(func(_, args string) { logged += len(args) }, funcr.Options{})
			trial := newTrial(scenario.Config(), scenario.Of(blocked))
			rw := trial.serveHTTP(log, post(bytes.NewReader(reviewOf(req))))
			g.Expect(rw.Body.Len()).To(BeNumerically("<", 4096))
			g.Expect(logged).To(BeNumerically("<", 8192))
		})
	}
}
