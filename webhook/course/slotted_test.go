// SPDX-License-Identifier: Apache-2.0

package course

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// full are slots of which none is free.
type full struct{}

// Take is Slots.
func (full) Take(context.Context, slots.Claim) (*policy.Slots, error) {
	return &policy.Slots{Most: 1, Taken: []policy.Blocker{
		{Application: "prod-eu", Step: 2, Reason: policy.OperationInProgress},
	}}, nil
}

// TestWhatRepairsNeedsNoSlot although none is free: what is broken may be what takes them. The same sync by the
// ApplicationSet controller, or by a person, is a part of a rollout.
func TestWhatRepairsNeedsNoSlot(t *testing.T) {
	for name, tc := range map[string]struct {
		reason policy.Reason
		user   string
		byHand bool
		want   policy.Outcome
	}{
		"a rollback":                    {policy.Rollback, scenario.ArgoCDServer, true, policy.Allow},
		"a self-heal":                   {policy.SelfHeal, scenario.ApplicationController, false, policy.Allow},
		"the controller syncs it again": {policy.SelfHeal, scenario.ApplicationSetController, false, policy.Deny},
		"somebody syncs it again":       {policy.SelfHeal, scenario.ArgoCDServer, true, policy.Deny},
		"a sync of something new":       {policy.FirstStep, scenario.ApplicationController, false, policy.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			way := &Course{Slots: full{}, Judge: judge.New(settings.Config{MaxUpdate: true}, judge.Dependencies{
				Histories: &scenario.Watch{}, Clock: scenario.AtNoon,
			})}
			attempt := scenario.SyncOf(scenario.Of("1:prod=Healthy@b"), "prod")
			attempt.User, attempt.After.Operation.InitiatedBy.Automated = tc.user, !tc.byHand
			w, err := judge.NewWrite(attempt.Request(), argocd.Tracking{})
			g.Expect(err).NotTo(HaveOccurred())
			allowed := judge.Verdict{
				Decision: policy.Decision{Outcome: policy.Allow, Reason: tc.reason}, Set: &argocd.ApplicationSet{}, Found: true,
			}
			g.Expect(way.slotted(t.Context(), w, allowed).Outcome).To(Equal(tc.want))
		})
	}
}
