// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Verdict is the outcome of one write: a decision, or the error that prevented one. Judge makes it, and nothing changes
// it.
type Verdict struct {
	policy.Decision
	Settings settings.Settings
	// Initiator is the metric label for who wrote.
	Initiator string
	Took      time.Duration
	// Found says that the ApplicationSet was read, and exists. Set is the ApplicationSet then.
	Found bool
	Set   *argocd.ApplicationSet
	// Repeated says that the operation repeats a sync that has run in its turn, that somebody has terminated (Stopped),
	// or that it is what is left of one.
	Repeated, Stopped bool
	// Held says that the write goes ahead without its operation, ByArgoCD that a controller of Argo CD wrote it, which asks
	// again by itself, and Released that a Releaser has it do so in time.
	Held, ByArgoCD, Released bool
	// Err says why there is no decision. The Decision then means nothing.
	Err error
}

// OrRepeated is the verdict if no sync is to be repeated: such a one is denied.
func (v Verdict) OrRepeated() Verdict {
	if v.Outcome == policy.Allow && v.Repeated {
		v.Decision = v.Again(v.Stopped)
	}
	return v
}

// HeldBack is the verdict where the write goes ahead without its operation; byArgoCD says that a controller of Argo CD
// wrote it, and release that a Releaser has such a one ask again.
func (v Verdict) HeldBack(byArgoCD, release bool) Verdict {
	v.Held, v.ByArgoCD, v.Released = true, byArgoCD, byArgoCD && release
	return v
}

// Slotted is the verdict after a slot was asked for: full are the slots of the step where none is free, and an error
// means that there is no decision.
func (v Verdict) Slotted(full *policy.Slots, err error) Verdict {
	v.Decision, v.Err = v.WithSlots(full), err
	return v
}

// Rooted is the verdict that says what a denied sync waits for in the end; nil where the denial says that itself.
func (v Verdict) Rooted(root *policy.Need) Verdict {
	v.Root = root
	return v
}

// UnlessForged is the verdict on a write of an operation that brings a stamp of its own: it would have something else remembered
// than what it deploys.
func (v Verdict) UnlessForged(w *Write) Verdict {
	if !w.Forged() || v.Err != nil || v.Outcome == policy.Deny || v.Settings.Mode != settings.Enforce {
		return v
	}
	v.Outcome, v.Reason, v.Application = policy.Deny, policy.ContentUnknown, w.Target.Name
	v.Detail = "the operation brings " + argocd.StampInfo + " of its own, which stepgate writes"
	v.Next = "leave it out"
	return v
}

// Rejects reports whether the write is stopped: outside audit mode, everything but Allow and NotGated is.
func (v Verdict) Rejects() bool {
	passes := v.Err == nil && (v.Outcome == policy.Allow || v.Outcome == policy.NotGated)
	return v.Settings.Mode != settings.Audit && !passes
}

// StricterThan orders by what happens to the write, then by the outcome.
func (v Verdict) StricterThan(other Verdict) bool {
	if v.Rejects() != other.Rejects() {
		return v.Rejects()
	}
	if (v.Err == nil) != (other.Err == nil) {
		return v.Err != nil
	}
	return v.Outcome < other.Outcome
}

// Failure is the error for the log; a deadline that passed is named as such.
func (v Verdict) Failure() string {
	if errors.Is(v.Err, context.DeadlineExceeded) {
		return "the API server did not answer within the webhook's time: " + v.Err.Error()
	}
	return v.Err.Error()
}

// Exempt reports whether something was switched off for a write that is admitted.
func (v Verdict) Exempt() bool {
	return v.Err == nil &&
		(v.Reason == policy.Bypassed || v.Reason == policy.GateOff || v.Outcome == policy.Allow && v.Settings.Exclusion != "")
}
