package webhook

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
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
	Owned(owner types.UID) []*argocd.Projection
}

// Mutator changes operations in the mutating webhook: it pins them to the revisions that are judged, and holds those of
// the ApplicationSet controller whose turn has not come. It admits everything: the Gate judges the operation as it is
// afterwards. Where the Mutator fails or knows nothing, the Gate at worst refuses an operation.
//
// It only changes what is at /operation and below. It acts in enforce mode only, on operations in step 2 and later, and in step 1 if that
// waits for a condition; it holds a repeated operation in any step. Its answer to its own output is no change.
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
	log := logr.FromContextOrDiscard(ctx).WithValues("application", printable(req.Name))
	in, ok := m.input(w)
	if !ok {
		return response
	}
	pin := m.pin(w, in)
	if v, held := m.hold(ctx, w, in, pin); held {
		m.gate.conclude(ctx, log, w, v)
		response.Patches, response.AuditAnnotations = withoutOperation(w), v.annotations()
		return response
	}
	if len(pin.Patches) > 0 {
		m.recordPin(log, w, pin)
		response.Patches, response.AuditAnnotations = pin.Patches, pin.annotations()
	}
	return response
}

// input is what is known without a read about a write that may have to be changed.
func (m *Mutator) input(w *write) (in policy.Input, ok bool) {
	if _, settled := policy.Relevant(w.target); settled || len(w.owners) != 1 {
		return in, false
	}
	owner := w.owners[0]
	set, _ := m.known.Set(types.NamespacedName{Namespace: w.namespace, Name: owner.Name})
	if set == nil || set.UID != string(owner.UID) {
		return in, false
	}
	s := m.gate.parser.OfWrite(set, w.claim())
	in = m.gate.input(w, set, s)
	return in, s.Mode == settings.Enforce && !s.Bypassed
}

// pinned is how an operation is pinned.
type pinned struct {
	argocd.Pin
	// by is the metric label: compared, proven, or named by the operation.
	by string
}

// pin names the revisions that are judged; it is empty where the operation stays as it is.
func (m *Mutator) pin(w *write, in policy.Input) pinned {
	if d, settled := policy.Scope(in); !in.Settings.Pin || settled && d.Reason != policy.NotPinned && d.Reason != policy.SelfHeal {
		return pinned{}
	}
	p, revision := pinned{by: settings.PinCompared.String()}, ""
	if in.Settings.Train {
		in.Siblings = placed(in.ApplicationSet, m.known.Owned(types.UID(in.ApplicationSet.UID)))
		in.Seen = m.gate.seen(w, in.ApplicationSet)
		if revision = policy.Proven(in); revision != "" {
			p.by = settings.PinProven.String()
		}
	}
	if p.Pin = argocd.NewPin(w.app, w.old, revision); p.Named {
		p.by = "named"
	}
	return p
}

func (p pinned) annotations() map[string]string {
	a := map[string]string{"pinned": printable(strings.Join(p.Revisions, ","))}
	if p.Unrefreshed {
		a["retry-refresh"] = "removed"
	}
	return a
}

func (m *Mutator) recordPin(log logr.Logger, w *write, p pinned) {
	if w.dryRun {
		log = log.V(1)
	} else {
		m.gate.Record.metrics.changes.WithLabelValues("pinned", p.by).Inc()
	}
	for key, value := range p.annotations() {
		log = log.WithValues(key, value)
	}
	log.Info("operation pinned")
}

// withoutOperation takes the operation out of a write, or puts the old one back.
func withoutOperation(w *write) []jsonpatch.Operation {
	if w.old != nil && w.old.Operation != nil {
		return []jsonpatch.Operation{jsonpatch.NewOperation("replace", "/operation", w.old.Operation.Sent())}
	}
	return []jsonpatch.Operation{jsonpatch.NewOperation("remove", "/operation", nil)}
}

// unchanged admits a write as it is.
func unchanged() webhook.AdmissionResponse {
	return webhook.AdmissionResponse{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true}}
}
