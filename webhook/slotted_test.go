// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// taking are Slots that answer every claim alike, and remember them.
type taking struct {
	full   *policy.Slots
	err    error
	claims []slots.Claim
}

// Take is Slots.
func (p *taking) Take(_ context.Context, c slots.Claim) (*policy.Slots, error) {
	p.claims = append(p.claims, c)
	return p.full, p.err
}

// crowd are slots of which the only one is taken.
func crowd() *policy.Slots {
	return &policy.Slots{Most: 1, Taken: []policy.Blocker{
		{Application: "prod-eu", Step: 2, Reason: policy.OperationInProgress},
	}}
}

// TestSlots has a write ask for a slot if the rule allows it, and only then.
func TestSlots(t *testing.T) {
	full := taking{full: crowd()}
	const open, shut = "1:dev=Healthy@b 3:prod=Healthy@b", "1:dev=Degraded@b 3:prod=Healthy@b"
	for name, tc := range map[string]struct {
		scenario   string
		slots      taking
		config     func(*settings.Config)
		attempt    func(*scenario.Attempt)
		wantCode   int32
		wantReason string
		wantClaims int
	}{
		"one is free":             {scenario: open, wantReason: "EarlierStepsDone", wantClaims: 1},
		"none is free":            {scenario: open, slots: full, wantCode: http.StatusForbidden, wantReason: "MaxUpdateReached", wantClaims: 1},
		"nobody knows":            {scenario: open, slots: taking{err: errors.New("broken")}, wantCode: http.StatusServiceUnavailable, wantClaims: 1},
		"the order does not hold": {scenario: shut, slots: full, wantCode: http.StatusForbidden, wantReason: "NotHealthy"},
		"audit mode":              {scenario: open, slots: full, config: func(c *settings.Config) { c.Mode = settings.Audit }, wantReason: "EarlierStepsDone"},
		"it is not switched on":   {scenario: open, slots: full, config: func(c *settings.Config) { c.MaxUpdate = false }, wantReason: "EarlierStepsDone"},
		"a dry run":               {scenario: open, slots: full, attempt: func(a *scenario.Attempt) { a.DryRun = true }, wantReason: "EarlierStepsDone"},
		"it is in no step":        {scenario: "1:dev=Healthy@b 0:prod=Healthy@b", slots: full, wantReason: "NotSelected"},
		"it is in the first step": {scenario: "1:prod=Healthy@b", slots: full, wantCode: http.StatusForbidden, wantReason: "MaxUpdateReached", wantClaims: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(tc.scenario)
			config := scenario.Pinning()
			config.MaxUpdate = true
			if tc.config != nil {
				tc.config(&config)
			}
			trial := newTrial(config, c)
			trial.course.Slots = &tc.slots
			a := scenario.SyncOf(c, "prod")
			a.After.Operation.Sync.Revision, a.After.Operation.Sync.Source = scenario.Commit("b"), a.After.Spec.Source
			if tc.attempt != nil {
				tc.attempt(a)
			}
			resp := trial.handle(a.Request())
			g.Expect(tc.slots.claims).To(HaveLen(tc.wantClaims))
			g.Expect(resp.Allowed).To(Equal(tc.wantCode == 0))
			if tc.wantCode != 0 {
				g.Expect(resp.Result.Code).To(Equal(tc.wantCode), resp.Result.Message)
			}
			if tc.wantReason != "" {
				g.Expect(resp.AuditAnnotations["reason"]).To(Equal(tc.wantReason))
			}
		})
	}
}

// TestASlotIsTakenOnce has both webhooks called for a write of the ApplicationSet controller.
func TestASlotIsTakenOnce(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 3:prod=Healthy@b")
	config := scenario.Releasing()
	config.MaxUpdate = true
	trial := newTrial(config, c)
	taken := &taking{}
	trial.course.Slots = taken
	mutator := trial.mutator(c)
	write := func() webhook.AdmissionResponse {
		return mutator.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: scenario.SyncOf(c, "prod").Request()})
	}
	allowed := scenario.SyncOf(c, "prod")
	resp, pinned := mutatedBy(t, trial, c, allowed)
	g.Expect(resp.AuditAnnotations).To(HaveKey("pinned"))
	allowed.After = pinned
	g.Expect(trial.handle(allowed.Request()).Allowed).To(BeTrue())
	g.Expect(taken.claims).To(HaveLen(1))
	g.Expect(trial.handle(allowed.Request()).Allowed).To(BeTrue())
	g.Expect(taken.claims).To(HaveLen(2))
	first, again := taken.claims[0], taken.claims[1]
	g.Expect(again.Operation).To(Equal(first.Operation), "the pinned operation is the admitted one")
	g.Expect([]any{again.Application, again.Step, again.UID, again.ByHand}).To(Equal(
		[]any{first.Application, first.Step, first.UID, false}))

	taken.full = crowd()
	held := write()
	g.Expect(held.Allowed).To(BeTrue())
	g.Expect(held.AuditAnnotations).To(And(HaveKeyWithValue("decision", "hold"),
		HaveKeyWithValue("reason", "MaxUpdateReached"), HaveKeyWithValue("blockers", "prod-eu=OperationInProgress")))
	taken.err = errors.New("broken")
	g.Expect(write().AuditAnnotations).To(HaveKey("pinned"), "the validating webhook says that nobody knows")
}

// TestAClaimIsWithinATrack, and in every one if the write, or somebody a moment ago, has changed the label.
func TestAClaimIsWithinATrack(t *testing.T) {
	for name, tc := range map[string]struct {
		after string
		seen  bool
		want  string
		moved bool
	}{
		"nobody has":       {after: "shop", want: "shop"},
		"the write does":   {after: "fresh", moved: true},
		"somebody has":     {after: "shop", seen: true, moved: true},
		"it loses its own": {moved: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 3:prod=Healthy@b")
			c.Sets[0].Annotations = map[string]string{settings.TrackAnnotation: "app"}
			c.Apps[1].Labels["app"] = "shop"
			config := scenario.Pinning()
			config.MaxUpdate = true
			trial, taken := newTrial(config, c), &taking{}
			trial.course.Slots = taken
			if tc.seen {
				trial.judge.Histories = &scenario.Watch{Relabelled: "prod"}
			}
			a := scenario.SyncOf(c, "prod")
			a.After.Operation.Sync.Revision, a.After.Operation.Sync.Source = scenario.Commit("b"), a.After.Spec.Source
			a.After.Labels["app"] = tc.after
			g.Expect(trial.handle(a.Request()).Allowed).To(BeTrue())
			g.Expect(taken.claims).To(HaveLen(1))
			g.Expect(taken.claims[0]).To(And(HaveField("Track", tc.want), HaveField("Moved", tc.moved)))
		})
	}
}
