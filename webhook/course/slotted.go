// SPDX-License-Identifier: Apache-2.0

package course

import (
	"context"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// Slots keep the maxUpdate of steps. slots.Store is one.
type Slots interface {
	// Take takes a slot for a write that the rule allows. It returns nil if the write has one or needs none, and else the
	// slots, of which none is free. On an error there is no decision.
	Take(ctx context.Context, c slots.Claim) (full *policy.Slots, err error)
}

// slotted is the verdict on a write that needs one of the slots of its step, if the rule allows it: no slot is a
// denial. What is bypassed, exempt or not gated, and what repairs, takes none, but counts while it is under way.
//
// A slot is taken when the write is judged, by whichever webhook is called first, and so before it is stored. If
// nobody has seen the operation stored for 10 s, the slot is free again: another webhook has refused the write, or the
// caller is no API server. The other webhook of stepgate, a retry of the API server and a retry of the sender find the
// slot taken for them already.
func (c *Course) slotted(ctx context.Context, w *judge.Write, v judge.Verdict) judge.Verdict {
	controller := c.Judge.IsApplicationSetController(w.User)
	if !c.Judge.Config.MaxUpdate || w.DryRun || v.Err != nil || v.Outcome != policy.Allow || v.Set == nil ||
		v.Settings.Mode != settings.Enforce || v.Repairs(w.Target.Operation.Automated && !controller) {
		return v
	}
	w = w.In(v.Set.Namespace)
	claim := slots.Claim{
		Set: v.Set, Application: w.Target.Name, UID: w.UID, Step: v.Step, Operation: w.App.Operation.Fingerprint(),
		ByHand: !w.Target.Operation.Automated && !controller,
	}
	if w.Old != nil {
		claim.Version = w.Old.Metadata.ResourceVersion
	}
	seen := c.Judge.Histories.History(&v.Set.ApplicationSet, 0, 0)
	claim = claim.Within(&v.Settings.Settings, w.Target.OldLabels, w.Target.Labels, seen.Past(w.Target.Name))
	return v.Slotted(c.Slots.Take(ctx, claim))
}
