package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/stepgate/stepgate/policy"
)

// verdict is the outcome of one write: a decision, or the error that prevented one.
type verdict struct {
	policy.Decision
	settings settings
	// initiator is the metric label for who wrote.
	initiator string
	took      time.Duration
	// found says that the ApplicationSet was read, and exists.
	found bool
	// repeated says that the operation repeats a sync that has run in its turn.
	repeated bool
	// held says that the write goes ahead without its operation, and released that a Releaser has it written again.
	held, released bool
	// waited is how long a sync that is allowed has waited for its turn, and waitedFor for whom last; zero when it has not,
	// or that is not known.
	waited    time.Duration
	waitedFor string
	// err says why there is no decision. The Decision then means nothing.
	err error
}

// rejects reports whether the write is stopped: outside audit mode, everything but Allow and NotGated is.
func (v verdict) rejects() bool {
	passes := v.err == nil && (v.Outcome == policy.Allow || v.Outcome == policy.NotGated)
	return v.settings.mode != Audit && !passes
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
