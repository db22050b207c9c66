package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// verdict is the outcome of one write: a decision, or the error that prevented one. Gate.judge makes it, and nothing changes it.
type verdict struct {
	policy.Decision
	settings settings.Settings
	// initiator is the metric label for who wrote.
	initiator string
	took      time.Duration
	// found says that the ApplicationSet was read, and exists.
	found bool
	// repeated says that the operation repeats a sync that has run in its turn.
	repeated bool
	// held says that the write goes ahead without its operation, and released that a Releaser has it written again.
	held, released bool
	// err says why there is no decision. The Decision then means nothing.
	err error
}

// orRepeated is the verdict if no sync is to be repeated: such a one is denied.
func (v verdict) orRepeated() verdict {
	if v.Outcome == policy.Allow && v.repeated {
		v.Outcome, v.Reason = policy.Deny, policy.AlreadySynced
	}
	return v
}

// heldBack is the verdict where the write goes ahead without its operation; released says that a Releaser has it written again.
func (v verdict) heldBack(released bool) verdict {
	v.held, v.released = true, released
	return v
}

// rejects reports whether the write is stopped: outside audit mode, everything but Allow and NotGated is.
func (v verdict) rejects() bool {
	passes := v.err == nil && (v.Outcome == policy.Allow || v.Outcome == policy.NotGated)
	return v.settings.Mode != settings.Audit && !passes
}

// stricterThan orders by what happens to the write, then by the outcome.
func (v verdict) stricterThan(other verdict) bool {
	if v.rejects() != other.rejects() {
		return v.rejects()
	}
	if (v.err == nil) != (other.err == nil) {
		return v.err != nil
	}
	return v.Outcome < other.Outcome
}

// failure is the error for the log; a deadline that passed is named as such.
func (v verdict) failure() string {
	if errors.Is(v.err, context.DeadlineExceeded) {
		return "the API server did not answer within the webhook's time: " + v.err.Error()
	}
	return v.err.Error()
}
