package main

import (
	"context"
	"fmt"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

// routed waits until the write of every user calls its own webhook and no other.
func (e *experiment) routed(ctx context.Context, r *rollout) {
	for user, where := range map[string]*rollout{noWebhook: e.none, alwaysUser: r, plainUser: r, gateUser: r} {
		err := eventually.Succeeds(ctx, func() error { return e.callsOnly(ctx, user, where) })
		script.Mustf(err, "write by %s in %s", user, where.namespace)
	}
}

func (e *experiment) callsOnly(ctx context.Context, user string, r *rollout) error {
	before := e.calls(ctx)
	if err := e.patchers[user].patch(ctx, r, allow); err != nil {
		return err
	}
	for other, after := range e.calls(ctx) {
		if called := after > before[other]; called != (other == user) {
			return fmt.Errorf("the webhook of %s: called is %t", other, called)
		}
	}
	return nil
}

// calls counts, by user, something that shows that a webhook was called.
func (e *experiment) calls(ctx context.Context) map[string]float64 {
	return map[string]float64{
		alwaysUser: float64(e.alwaysCalls.Load()), plainUser: float64(e.hosted.plainReads.Load()),
		gateUser: script.Get(e.gate.Metric(ctx, "stepgate_requests_total")),
	}
}
