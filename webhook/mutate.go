// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/judge"
)

// MutatePath is where a Mutator is served.
const MutatePath = "/mutate"

// SelfTestInfo is the name of the operation.info entry to which the mutating webhook answers with a warning.
const SelfTestInfo = "stepgate.io/selftest"

// SelfTestWarning is that warning.
const SelfTestWarning = "stepgate: the mutating webhook has answered"

// Mutator changes operations in the mutating webhook: it pins them to the revisions that are judged, gives each the stamp
// of what it deploys, and holds those whose turn has not come where whoever writes them asks again. It admits everything:
// the Gate judges the operation as it is afterwards. Where the Mutator fails or knows nothing, the Gate at worst refuses
// an operation.
//
// It only changes what is at /operation and below, and puts back the result of the last operation where a write that it
// holds clears that. It acts in enforce mode only. It pins and holds in step 2 and later, and in step 1 if that waits for a
// condition or comes after others; it holds a repeated operation, and stamps every one, in any step. Its answer to its
// own output is no change.
type Mutator struct{ gate *Gate }

// NewMutator returns a Mutator that judges as a Gate does, and hands its judgments on to it.
func NewMutator(gate *Gate) *Mutator { return &Mutator{gate} }

var _ webhook.AdmissionHandler = (*Mutator)(nil)

// Handle answers with the patches of one write.
func (m *Mutator) Handle(ctx context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	w, err := judge.NewWrite(req.AdmissionRequest, m.gate.course.Judge.Config.Tracking)
	if err != nil {
		// The validating webhook is called next, and says so.
		return unchanged()
	}
	response := unchanged()
	if strings.Contains(w.Info(SelfTestInfo), "mutate") {
		response.Warnings = append(response.Warnings, SelfTestWarning)
	}
	log := logr.FromContextOrDiscard(ctx).WithValues("application", policy.ClientText(req.Name))
	way := m.gate.course.Of(ctx, w)
	response.Warnings = append(response.Warnings, m.candidates(w, way)...)
	if trial := w.DryRun && w.Info(SelfTestInfo) != ""; way.Held && !trial { // that wants to hear the Gate
		m.gate.conclude(ctx, log, w, way.Verdict)
		response.Patches, response.AuditAnnotations = withoutOperation(w), way.Verdict.AuditAnnotations()
		if !way.Verdict.ByArgoCD { // whose logs it would fill
			response.Warnings = append(response.Warnings, warning(leftOut+way.Verdict.Message()))
		}
		return response
	}
	if way.Judged && !way.Held {
		m.gate.passes.remember(way.Write, way.Verdict)
	}
	if response.Patches = way.Patches; len(way.Pin.Patches) > 0 {
		m.recordPin(log, w, way.Pin)
		response.AuditAnnotations = way.Pin.Annotations()
	}
	return response
}

// candidates are the warnings about the candidates of a write, as far as is known without a read.
func (m *Mutator) candidates(w *judge.Write, way course.Way) (warnings []string) {
	if !way.Gated || !w.DryRun || w.Info(course.CandidatesInfo) == "" {
		return nil
	}
	for _, c := range m.gate.course.Candidates(way.Input) {
		text, err := json.Marshal(c)
		if err == nil && len(course.CandidateWarning)+len(text) <= maxWarning {
			warnings = append(warnings, course.CandidateWarning+string(text))
		}
	}
	return warnings
}

func (m *Mutator) recordPin(log logr.Logger, w *judge.Write, p course.Pin) {
	if w.DryRun {
		log = log.V(1)
	} else {
		m.gate.Record.Pinned(p.By)
	}
	for key, value := range p.Annotations() {
		log = log.WithValues(key, value)
	}
	log.Info("operation pinned")
}

// leftOut begins the warning to who has asked for a sync that is held.
const leftOut = "stepgate stored this write without its operation, so ask for the sync again: "

// withoutOperation takes the operation out of a write, or puts the old one back. A write that clears the result of the
// last operation gets that back, too: no other result comes to replace it, and a failed sync would be forgotten.
func withoutOperation(w *judge.Write) []jsonpatch.Operation {
	patches := []jsonpatch.Operation{jsonpatch.NewOperation("remove", "/operation", nil)}
	if w.Old != nil && w.Old.Operation != nil {
		patches[0] = jsonpatch.NewOperation("replace", "/operation", w.Old.Operation.Sent())
	}
	if result := argocd.ClearedResult(w.App, w.Old); result != nil {
		patches = append(patches, jsonpatch.NewOperation("add", "/status/operationState", result))
	}
	return patches
}
