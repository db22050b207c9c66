package webhook

import (
	"context"
	"reflect"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

const (
	// passTTL is for how long the Gate takes the Mutator's judgment of a write for its own. The API server calls the
	// validating webhooks right after the mutating ones.
	passTTL = 200 * time.Millisecond
	// passMemory bounds the judgments that are remembered.
	passMemory = 1000
)

// pass is the Mutator's judgment of a write that it lets through.
type pass struct {
	target  policy.Target
	user    string
	dryRun  bool
	verdict verdict
}

// hold reports whether the operation of a write has to wait, and why. Only the ApplicationSet controller's operations are
// held: it leaves the Application Pending, and asks again when something changes. A refusal would take the rest of its
// patch along, show an error on the ApplicationSet, and make it try again at once. Everybody else has to see the refusal:
// argocd-server would report a sync that does not run.
//
// The judgment is the Gate's own, on live reads. What it lets through, the Gate lets through a moment later without
// reading again: a second judgment would cost as much as the first, and refuse what has changed in between.
func (m *Mutator) hold(ctx context.Context, w *write, in policy.Input, pin pinned) (v verdict, held bool) {
	// A new spec has to be stored before Argo CD can compare it.
	respecified := in.Settings.Pin && !w.target.SpecCompared
	if !m.gate.isApplicationSetController(w.user) || !m.gate.config.Hold && !respecified {
		return verdict{}, false
	}
	asPinned := *w
	asPinned.app = pin.Pinned(w.app)
	asPinned.target = argocd.Target(asPinned.app, w.old)
	v = m.gate.judge(ctx, &asPinned).orRepeated()
	switch {
	case v.err != nil:
		return verdict{}, false // the Gate says so, or succeeds
	case v.rejects() && (m.gate.config.Hold || v.Reason == policy.TargetNotCompared):
		return v.heldBack(m.gate.config.Release), true
	}
	if !v.rejects() {
		m.gate.pass(&asPinned, v)
	}
	return verdict{}, false
}

// pass remembers a judgment for the validating webhook.
func (g *Gate) pass(w *write, v verdict) {
	if w.uid != "" {
		g.passes.Add(w.uid, pass{w.target, w.user, w.dryRun, v}, passTTL)
	}
}

// passed takes the judgment of exactly this write that was made a moment ago.
func (g *Gate) passed(w *write) (v verdict, ok bool) {
	found, ok := g.passes.Get(w.uid)
	if !ok {
		return verdict{}, false
	}
	g.passes.Remove(w.uid)
	p, ok := found.(pass)
	if !ok || p.user != w.user || p.dryRun != w.dryRun || !reflect.DeepEqual(p.target, w.target) {
		return verdict{}, false
	}
	return p.verdict, true
}

// repeats reports whether an operation repeats a sync that has run in its turn, in whatever step. A pinned repetition
// deploys nothing new, and so the rule has nothing against it. But it runs as a sync, and the next step waits for it.
func (g *Gate) repeats(in policy.Input) bool {
	return g.config.Hold && in.ApplicationSet != nil && policy.Repeated(in)
}
