package webhook

import (
	"context"
	"reflect"
	"strings"

	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// MutatePath is where a Mutator is served.
const MutatePath = "/mutate"

// SelfTestInfo is the name of the operation.info entry to which the mutating webhook answers with a warning.
const SelfTestInfo = "stepgate.io/selftest"

// SelfTestWarning is that warning.
const SelfTestWarning = "stepgate: the mutating webhook has answered"

// KnownSets gives ApplicationSets and their Applications as last watched, without a read.
type KnownSets interface {
	Set(name types.NamespacedName) (*argocd.ApplicationSet, siblings.Version)
	Owned(owner types.UID) []*siblings.Projection
}

// Mutator pins operations to the revisions that are judged, in the mutating webhook. It reads nothing and admits
// everything: the Gate judges the operation as it is afterwards. Where the Mutator fails or knows nothing, the Gate at
// worst refuses an operation that names no revision.
//
// It only changes what is at /operation and below. It acts in enforce mode only, on operations in step 2 and later. Its
// answer to its own output is no change.
type Mutator struct {
	gate  *Gate
	known KnownSets
}

// NewMutator returns a Mutator that acts by the configuration of a Gate.
func NewMutator(gate *Gate, known KnownSets) *Mutator { return &Mutator{gate: gate, known: known} }

var _ webhook.AdmissionHandler = (*Mutator)(nil)

// Handle answers with the patches of one write.
func (m *Mutator) Handle(ctx context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	w, err := newWrite(req.AdmissionRequest)
	if err != nil {
		// The validating webhook is called next, and says so.
		return unchanged()
	}
	response := unchanged()
	if w.app.Operation != nil && strings.Contains(infoOf(&w.app.Operation.Operation, SelfTestInfo), "mutate") {
		response.Warnings = append(response.Warnings, SelfTestWarning)
	}
	change := m.change(w)
	if len(change.patches) == 0 {
		return response
	}
	log := logr.FromContextOrDiscard(ctx).WithValues("application", printable(req.Name))
	if w.dryRun {
		log = log.V(1)
	} else {
		m.gate.Record.metrics.changes.WithLabelValues(change.verb, change.reason).Inc()
	}
	for key, value := range change.annotations {
		log = log.WithValues(key, value)
	}
	log.Info("operation " + change.verb)
	response.Patches, response.AuditAnnotations = change.patches, change.annotations
	return response
}

// change is what is done to an operation.
type change struct {
	// verb is "pinned" or "held", and reason the metric label that says why.
	verb, reason string
	patches      []jsonpatch.Operation
	annotations  map[string]string
}

// change returns the zero change for a write that stays as it is.
func (m *Mutator) change(w *write) change {
	if _, settled := policy.Relevant(w.target); settled || len(w.owners) != 1 {
		return change{}
	}
	owner := w.owners[0]
	set, _ := m.known.Set(types.NamespacedName{Namespace: w.namespace, Name: owner.Name})
	if set == nil || set.UID != string(owner.UID) {
		return change{}
	}
	s := m.gate.settingsFor(set, w)
	if !s.Pin || s.Off || s.Bypassed {
		return change{}
	}
	in := policy.Input{Target: w.target, ApplicationSet: &set.ApplicationSet, Settings: s.Settings}
	switch d, settled := policy.Scope(in); {
	case d.Outcome != policy.Deny:
		return change{}
	case d.Reason == policy.TargetNotCompared:
		return m.hold(w, d)
	case settled && d.Reason != policy.NotPinned:
		return change{}
	}
	return m.pin(w, in)
}

// hold takes a premature operation of the ApplicationSet controller out of a write that has more in it than that: the
// spec has to be stored before Argo CD can compare it. A write that has nothing else in it is left to the Gate: after a
// refusal the controller asks again, and nothing would wake it after a write that changes nothing.
func (m *Mutator) hold(w *write, d policy.Decision) change {
	if !m.gate.isApplicationSetController(w.user) || w.old != nil && reflect.DeepEqual(w.app.Spec, w.old.Spec) && reflect.DeepEqual(w.app.Metadata, w.old.Metadata) {
		return change{}
	}
	patch := jsonpatch.NewOperation("remove", "/operation", nil)
	if w.old != nil && w.old.Operation != nil {
		patch = jsonpatch.NewOperation("replace", "/operation", w.old.Operation.Sent())
	}
	return change{
		verb: "held", reason: string(d.Reason), patches: []jsonpatch.Operation{patch},
		annotations: map[string]string{"decision": "hold", "reason": string(d.Reason), "applicationset": printable(d.ApplicationSet)},
	}
}

// pin names the revisions that are judged.
func (m *Mutator) pin(w *write, in policy.Input) change {
	revision, by := "", PinCompared
	if m.gate.config.Pin == PinProven {
		in.Siblings = applications(m.known.Owned(types.UID(in.ApplicationSet.UID)))
		if revision = policy.Proven(in); revision != "" {
			by = PinProven
		}
	}
	pin := argocd.NewPin(w.app, w.old, revision)
	c := change{verb: "pinned", reason: by.String(), patches: pin.Patches}
	if len(pin.Patches) > 0 {
		c.annotations = map[string]string{"pinned": printable(strings.Join(pin.Revisions, ","))}
		if pin.Unrefreshed {
			c.annotations["retry-refresh"] = "removed"
		}
	}
	return c
}

// unchanged admits a write as it is.
func unchanged() webhook.AdmissionResponse {
	return webhook.AdmissionResponse{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true}}
}
