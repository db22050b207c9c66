package webhook

import (
	"context"
	"reflect"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
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
	verdict judge.Verdict
}

// hold reports whether the operation of a write has to wait, and why. Only the ApplicationSet controller's operations
// are held: it leaves the Application Pending, and asks again when something changes. A refusal would take the rest of
// its patch along, show an error on the ApplicationSet, and make it try again at once. Everybody else has to see the
// refusal: argocd-server would report a sync that does not run.
//
// The judgment is the Gate's own, on live reads. What it lets through, the Gate lets through a moment later without
// reading again: a second judgment would cost as much as the first, and refuse what has changed in between.
func (m *Mutator) hold(ctx context.Context, w *judge.Write, in policy.Input, pin pinned) (v judge.Verdict, held bool) {
	// A new spec has to be stored before Argo CD can compare it.
	respecified := in.Settings.Pin && !w.Target.SpecCompared
	if !m.judge.IsApplicationSetController(w.User) || !m.judge.Config.Hold && !respecified {
		return judge.Verdict{}, false
	}
	asPinned := w.With(pin.Pinned(w.App))
	v = m.judge.Judge(ctx, asPinned).OrRepeated()
	switch {
	case v.Err != nil:
		return judge.Verdict{}, false // the Gate says so, or succeeds
	case v.Rejects() && (m.judge.Config.Hold || v.Reason == policy.TargetNotCompared):
		return v.HeldBack(m.judge.Config.Release), true
	}
	if !v.Rejects() {
		m.gate.pass(asPinned, v)
	}
	return judge.Verdict{}, false
}

// pass remembers a judgment for the validating webhook.
func (g *Gate) pass(w *judge.Write, v judge.Verdict) {
	if w.UID != "" {
		g.passes.Add(w.UID, pass{w.Target, w.User, w.DryRun, v}, passTTL)
	}
}

// passed takes the judgment of exactly this write that was made a moment ago.
func (g *Gate) passed(w *judge.Write) (v judge.Verdict, ok bool) {
	found, ok := g.passes.Get(w.UID)
	if !ok {
		return judge.Verdict{}, false
	}
	g.passes.Remove(w.UID)
	p, ok := found.(pass)
	if !ok || p.user != w.User || p.dryRun != w.DryRun || !reflect.DeepEqual(p.target, w.Target) {
		return judge.Verdict{}, false
	}
	return p.verdict, true
}
