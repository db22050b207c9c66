package webhook

import (
	"context"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
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
type Mutator struct {
	judge *judge.Judge
	gate  *Gate
	known judge.KnownSets
}

// NewMutator returns a Mutator that judges as a Gate does, and hands its judgments on to it.
func NewMutator(gate *Gate, known judge.KnownSets) *Mutator {
	return &Mutator{judge: gate.judge, gate: gate, known: known}
}

var _ webhook.AdmissionHandler = (*Mutator)(nil)

// Handle answers with the patches of one write.
func (m *Mutator) Handle(ctx context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	w, err := judge.NewWrite(req.AdmissionRequest)
	if err != nil {
		// The validating webhook is called next, and says so.
		return unchanged()
	}
	response := unchanged()
	if strings.Contains(w.Info(SelfTestInfo), "mutate") {
		response.Warnings = append(response.Warnings, SelfTestWarning)
	}
	log := logr.FromContextOrDiscard(ctx).WithValues("application", policy.ClientText(req.Name))
	in, ok := m.judge.Cached(w, m.known)
	if !ok && !w.Alone() {
		return response
	}
	pin, next, patches := pinned{}, w, []jsonpatch.Operation(nil)
	if ok {
		response.Warnings = append(response.Warnings, m.candidates(w, in)...)
		pin = m.pin(w, in)
		next, patches = m.stamp(w, pin)
	}
	trial := w.DryRun && w.Info(SelfTestInfo) != "" // it wants to hear the Gate
	if v, held := m.hold(ctx, w, in, next); held && !trial {
		m.gate.conclude(ctx, log, w, v)
		response.Patches, response.AuditAnnotations = withoutOperation(w), v.AuditAnnotations()
		if !v.ByArgoCD { // whose logs it would fill
			response.Warnings = append(response.Warnings, warning(leftOut+v.Message()))
		}
		return response
	}
	if response.Patches = patches; len(pin.Patches) > 0 {
		m.recordPin(log, w, pin)
		response.AuditAnnotations = pin.annotations()
	}
	return response
}

// stamp is the write with its operation as it is stored: pinned, and with the stamp of what it deploys.
func (m *Mutator) stamp(w *judge.Write, pin pinned) (next *judge.Write, patches []jsonpatch.Operation) {
	stamped, patches := argocd.Stamped(pin.Pinned(w.App), w.Old)
	return w.With(stamped), append(pin.Patches, patches...)
}

// pinned is how an operation is pinned.
type pinned struct {
	argocd.Pin
	// by is the metric label: compared, qualified, or named by the operation.
	by string
}

// pin names the revisions that are judged; it is empty if the operation stays as it is.
func (m *Mutator) pin(w *judge.Write, in policy.Input) pinned {
	if d, settled := policy.Scope(in); settled && d.Reason != policy.NotPinned &&
		d.Reason != policy.SelfHeal {
		return pinned{}
	}
	p, revisions := pinned{by: settings.PinCompared.String()}, []string(nil)
	if in.Settings.Train {
		in.Siblings = judge.Placed(in.ApplicationSet, m.known.Owned(types.UID(in.ApplicationSet.UID)))
		if best, _ := policy.Best(policy.Candidates(in)); !best.Compared {
			revisions, p.by = best.Revisions(), settings.PinQualified.String()
		}
	}
	if p.Pin = argocd.NewPin(w.App, w.Old, revisions); p.Named {
		p.by = "named"
	}
	if !m.judge.Config.Start { // else a Releaser ends them
		p.BoundRetries(w.App)
	}
	return p
}

func (p pinned) annotations() map[string]string {
	a := map[string]string{"pinned": policy.ClientText(strings.Join(p.Revisions, ","))}
	if p.Unrefreshed {
		a["retry-refresh"] = "removed"
	}
	if p.Retries != nil {
		a["retries"] = strconv.FormatInt(*p.Retries, 10)
	}
	return a
}

func (m *Mutator) recordPin(log logr.Logger, w *judge.Write, p pinned) {
	if w.DryRun {
		log = log.V(1)
	} else {
		m.gate.Record.Pinned(p.by)
	}
	for key, value := range p.annotations() {
		log = log.WithValues(key, value)
	}
	log.Info("operation pinned")
}

// leftOut begins the warning to who has asked for a sync that is held.
const leftOut = "stepgate stored this write without its operation, so ask for the sync again: "

// hold reports whether the operation of a write has to wait, and why. Held are the operations of who asks again by
// himself: the ApplicationSet controller leaves the Application Pending, and asks again when something changes; auto-sync
// does at each comparison. A refusal would take the rest of the patch along, show an error on the ApplicationSet or the
// Application, and make the ApplicationSet controller try again at once. Held is also what comes with something that is
// to be stored and compared first, whoever writes it. Everybody else has to see the refusal: argocd-server would report a
// sync that does not run.
//
// The judgment is the Gate's own, on live reads, and takes a place of the step. What it lets through, the Gate lets
// through a moment later without reading again: a second judgment would cost as much as the first, and refuse what has
// changed in between.
func (m *Mutator) hold(
	ctx context.Context, w *judge.Write, in policy.Input, next *judge.Write,
) (v judge.Verdict, held bool) {
	machine := m.judge.Config.Hold && m.judge.AsksAgain(w)
	if in.Settings.Bypassed || !machine && !argocd.Outdates(w.App, w.Old) {
		return judge.Verdict{}, false
	}
	if v = m.judge.Judge(ctx, next); m.judge.IsApplicationSetController(w.User) {
		v = v.OrRepeated()
	}
	v = m.gate.placed(ctx, next, v)
	switch {
	case v.Err != nil:
		return judge.Verdict{}, false // the Gate says so, or succeeds
	case v.Rejects():
		return v.HeldBack(m.judge.ByArgoCD(w), m.judge.Config.Release), true
	}
	m.gate.passes.remember(next, v)
	return judge.Verdict{}, false
}

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
