// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
	"github.com/stepgate/stepgate/webhook"
)

// routed waits until the write of every user calls its own webhooks and no other.
func (e *experiment) routed(ctx context.Context, r *rollout) {
	for user, webhooks := range map[string][]string{
		noWebhook: nil, alwaysUser: {alwaysUser}, plainUser: {plainUser}, deniedUser: {pinning, deniedUser},
		gateUser:   {webhook.MutatePath, webhook.ValidatePath},
		controller: {webhook.MutatePath, webhook.ValidatePath}, unmutatedController: {webhook.ValidatePath},
		barrierUser: {barrierUser}, idleUser: {idleUser},
	} {
		where := r
		if user == noWebhook {
			where = e.none
		}
		err := eventually.Succeeds(ctx, func() error { return e.callsOnly(ctx, user, where, webhooks) })
		script.Mustf(err, "write by %s in %s", user, where.namespace)
	}
}

// pinning is the mutating webhook of deniedUser.
const pinning = "pinning"

func (e *experiment) callsOnly(ctx context.Context, user string, r *rollout, webhooks []string) error {
	before := e.calls(ctx)
	want := allow
	if user == deniedUser {
		want = deny
	}
	if err := e.patchers[user].patch(ctx, r, want); err != nil {
		return err
	}
	for webhook, after := range e.calls(ctx) {
		if called := after > before[webhook]; called != slices.Contains(webhooks, webhook) {
			return fmt.Errorf("the webhook %s: called is %t", webhook, called)
		}
	}
	return nil
}

// calls counts, by webhook, something that shows that it was called.
func (e *experiment) calls(ctx context.Context) map[string]float64 {
	return map[string]float64{
		alwaysUser: float64(e.alwaysCalls.Load()), plainUser: float64(e.hosted.plainReads.Load()),
		idleUser: float64(e.idleCalls.Load()), pinning: float64(e.pinsCalls.Load()),
		deniedUser:           float64(e.deniesCalls.Load()),
		webhook.MutatePath:   script.Get(e.gate.Metric(ctx, "stepgate_requests_total", "path", webhook.MutatePath)),
		barrierUser:          script.Get(e.barrier.Metric(ctx, "stepgate_requests_total", "path", webhook.ValidatePath)),
		webhook.ValidatePath: script.Get(e.gate.Metric(ctx, "stepgate_requests_total", "path", webhook.ValidatePath)),
	}
}
