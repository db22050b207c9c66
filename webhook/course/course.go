// SPDX-License-Identifier: Apache-2.0

package course

import (
	"context"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/outlook"
)

// Course is the way of writes in one installation.
type Course struct {
	Judge *judge.Judge
	// Known gives what is known of a write before it is judged. It decides nothing.
	Known judge.KnownSets
	// Slots are used with Config.MaxUpdate only.
	Slots Slots
	// Roots find what denied syncs wait for in the end; nil if nobody looks.
	Roots *outlook.Roots
}

// Way is the way that one write has taken through the mutating webhook.
type Way struct {
	// Write is the write as it goes on: pinned, and with the stamp of what it deploys.
	Write *judge.Write
	// Pin is how it is pinned, and Patches make Write of the write that came.
	Pin     Pin
	Patches []jsonpatch.Operation
	// Input is what is known about the write without a read, if Gated: it is one of an operation in enforce mode, in an
	// ApplicationSet that is known.
	Input policy.Input
	Gated bool
	// Verdict is the judgment of Write, if Judged. Held says that its operation has to wait.
	Verdict      judge.Verdict
	Judged, Held bool
}

// Of takes a write as far as the mutating webhook takes it. A write that is not Held goes on to the validating one, which
// judges it if that was not done.
func (c *Course) Of(ctx context.Context, w *judge.Write) Way {
	way := Way{Write: w}
	way.Input, way.Gated = c.Judge.Remembered(w, c.Known)
	if !way.Gated && !w.Alone() {
		return way
	}
	if way.Gated {
		way.Pin = c.pin(w, way.Input)
		stamped, patches := argocd.Stamped(way.Pin.Pinned(w.App), w.Old)
		way.Write, way.Patches = w.With(stamped), slices.Concat(way.Pin.Patches, patches)
	}
	return c.hold(ctx, w, way)
}

// Judged is the judgment of a write on live reads, with a slot of its step if it needs one.
func (c *Course) Judged(ctx context.Context, w *judge.Write) judge.Verdict {
	return c.rooted(w, c.slotted(ctx, w, c.Judge.Judge(ctx, w)))
}

// rooted is a verdict that says what a denied sync waits for in the end.
func (c *Course) rooted(w *judge.Write, v judge.Verdict) judge.Verdict {
	if c.Roots == nil || v.Err != nil || !v.Found {
		return v
	}
	set := v.Set
	if set == nil {
		set = argocd.Alone(w.Namespace, w.UID, w.App.Metadata.Annotations)
	}
	return v.Rooted(c.Roots.Of(set, types.NamespacedName{Namespace: w.Namespace, Name: w.Target.Name}, v.Decision))
}

// hold judges a write where it may have to wait. Held are the operations of who asks again by himself: the ApplicationSet
// controller leaves the Application Pending, and asks again when something changes; auto-sync does at each comparison. A
// refusal would take the rest of the patch along, show an error on the ApplicationSet or the Application, and make the
// ApplicationSet controller try again at once. Held is also what comes with something that is to be stored and compared
// first, whoever writes it. Everybody else has to see the refusal: argocd-server would report a sync that does not run.
//
// The judgment is the Gate's own, on live reads, and takes a slot of the step. What it lets through, the Gate lets
// through a moment later without reading again: a second judgment would cost as much as the first, and refuse what has
// changed in between. On an error there is no judgment: the Gate says so, or succeeds.
func (c *Course) hold(ctx context.Context, w *judge.Write, way Way) Way {
	machine := c.Judge.Config.Hold && c.Judge.AsksAgain(w)
	if way.Input.Settings.Bypassed || !machine && !argocd.Outdates(w.App, w.Old) {
		return way
	}
	v := c.Judge.Judge(ctx, way.Write)
	if c.Judge.IsApplicationSetController(w.User) {
		v = v.OrRepeated()
	}
	if v = c.rooted(way.Write, c.slotted(ctx, way.Write, v)); v.Err != nil {
		return way
	}
	way.Verdict, way.Judged, way.Held = v, true, v.Rejects()
	if way.Held {
		way.Verdict = v.HeldBack(c.Judge.ByArgoCD(w), c.Judge.Config.Release)
	}
	return way
}
