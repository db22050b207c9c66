package main

import (
	"context"
	"fmt"

	"github.com/stepgate/stepgate/test/eventually"
)

// routed waits until the write of every user calls its own webhook and no other.
func (e *experiment) routed(ctx context.Context, r *rollout) error {
	for _, route := range []struct {
		user    string
		rollout *rollout
	}{{noWebhook, e.none}, {alwaysUser, r}, {plainUser, r}, {gateUser, r}} {
		err := eventually.Succeeds(ctx, func() error { return e.callsOnly(ctx, route.user, route.rollout) })
		if err != nil {
			return fmt.Errorf("write by %s in %s: %w", route.user, route.rollout.namespace, err)
		}
	}
	return nil
}

func (e *experiment) callsOnly(ctx context.Context, user string, r *rollout) error {
	before, err := e.calls(ctx)
	if err != nil {
		return err
	}
	if err := e.patchers[user].patch(ctx, r, allow); err != nil {
		return err
	}
	after, err := e.calls(ctx)
	if err != nil {
		return err
	}
	for other := range after {
		if called := after[other] > before[other]; called != (other == user) {
			return fmt.Errorf("the webhook of %s: called is %t", other, called)
		}
	}
	return nil
}

// calls counts, by user, what shows that a webhook was called.
func (e *experiment) calls(ctx context.Context) (map[string]float64, error) {
	requests, err := e.gate.Metric(ctx, "stepgate_requests_total")
	return map[string]float64{
		alwaysUser: float64(e.alwaysCalls.Load()), plainUser: float64(e.plainReads.Load()), gateUser: requests,
	}, err
}
