// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync/atomic"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admission "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/guestbook"
)

// pins is a mutating webhook that adds what a pin adds to every operation, and reads nothing.
type pins struct {
	source *argo.ApplicationSource
	calls  *atomic.Int64
}

// Handle pins.
func (p pins) Handle(context.Context, admission.AdmissionRequest) admission.AdmissionResponse {
	p.calls.Add(1)
	return admission.AdmissionResponse{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true},
		Patches: []jsonpatch.Operation{
			jsonpatch.NewOperation("add", "/operation/sync/revision", guestbook.NewCommit),
			jsonpatch.NewOperation("add", "/operation/sync/source", p.source),
		}}
}

// denies is a validating webhook that denies everything, and reads nothing. Behind pins, it shows the least that a
// denied write costs.
type denies struct{ calls *atomic.Int64 }

// Handle denies as stepgate does, with a text of the usual length.
func (d denies) Handle(context.Context, admission.AdmissionRequest) admission.AdmissionResponse {
	d.calls.Add(1)
	return admission.AdmissionResponse{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden,
		Message: "stepgate: step 3 waits: 1 Application of an earlier step is not done: app-00000 (step 1): NotHealthy " +
			"(Degraded)",
	}}}
}
