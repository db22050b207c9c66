// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// sideBySide answers neither read before the other has begun.
type sideBySide struct {
	*scenario.Cluster
	set, apps chan struct{}
}

func (s sideBySide) ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	close(s.set)
	if err := begun(ctx, s.apps); err != nil {
		return nil, err
	}
	return s.Cluster.ApplicationSet(ctx, name)
}

func (s sideBySide) Evaluate(ctx context.Context, in policy.Input, open policy.Decision) (policy.Decision, error) {
	close(s.apps)
	if err := begun(ctx, s.set); err != nil {
		return policy.Decision{}, err
	}
	return s.Cluster.Evaluate(ctx, in, open)
}

func begun(ctx context.Context, read chan struct{}) error {
	select {
	case <-read:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestTheReadsOfADecisionGoSideBySide(t *testing.T) {
	for line, wantAllowed := range map[string]bool{open: true, blocked: false} {
		t.Run(line, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(line)
			trial := newTrial(scenario.Config(), sideBySide{c, make(chan struct{}), make(chan struct{})})
			trial.judge.Known = scenario.Watched{Cluster: c}
			resp := trial.gate.Handle(t.Context(), webhook.AdmissionRequest{
				AdmissionRequest: scenario.Pinned(scenario.SyncOf(c, "prod").Request()),
			})
			g.Expect(resp.Allowed).To(Equal(wantAllowed))
			g.Expect(resp.AuditAnnotations).NotTo(HaveKey("error"))
			g.Expect(c.Reads).To(Equal(2))
		})
	}
}

// TestTheKnownApplicationSetIsNotTrusted has the watch know another ApplicationSet than the live one: the answer is the
// same as without a watch. Each known one would be answered otherwise, if it were live. The simulation goes without the
// watch for that reason.
func TestTheKnownApplicationSetIsNotTrusted(t *testing.T) {
	oneStep := func(set *argo.ApplicationSet) {
		set.Spec.Strategy.RollingSync.Steps = set.Spec.Strategy.RollingSync.Steps[2:]
	}
	removed := func(set *argo.ApplicationSet) {
		set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Application: "qa", Step: "-1"}}
	}
	created := func(set *argo.ApplicationSet) {
		set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Application: "new", Step: "1"}}
	}
	for name, tc := range map[string]struct {
		scenario    string
		known, live func(*argo.ApplicationSet)
		wantAllowed bool
	}{
		"it had no earlier steps":               {scenario: blocked, known: oneStep},
		"it has no earlier steps any more":      {scenario: blocked, live: oneStep, wantAllowed: true},
		"it was off":                            {scenario: blocked, known: annotated(settings.ModeAnnotation, "off")},
		"it is off now":                         {scenario: blocked, live: annotated(settings.ModeAnnotation, "off"), wantAllowed: true},
		"it was bypassed":                       {scenario: blocked, known: annotated(settings.BypassAnnotation, inAnHour+" INC-1")},
		"it did not generate the blocker":       {scenario: blocked, known: removed},
		"it does not generate the blocker now":  {scenario: blocked, live: removed, wantAllowed: true},
		"it recorded no Application to come":    {scenario: open, live: created},
		"it records no Application to come now": {scenario: open, known: created, wantAllowed: true},
		"it had another strategy":               {scenario: blocked, known: func(set *argo.ApplicationSet) { set.Spec.Strategy = nil }},
		"it was deleted and created again":      {scenario: open, known: func(set *argo.ApplicationSet) { set.UID, set.Spec.Strategy = "before", nil }, wantAllowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			live, known := scenario.Of(tc.scenario), scenario.Of(tc.scenario)
			if tc.live != nil {
				tc.live(live.Sets[0])
			}
			if tc.known != nil {
				tc.known(known.Sets[0])
			}
			request := scenario.SyncOf(live, "prod").Request()
			trial := newTrial(scenario.Config(), live)
			trial.judge.Known = scenario.Watched{Cluster: known}
			resp, want := trial.handle(request), newTrial(scenario.Config(), live).handle(request)
			g.Expect(resp).To(Equal(want))
			g.Expect(resp.Allowed).To(Equal(tc.wantAllowed))
			g.Expect(newTrial(scenario.Config(), known).handle(request)).NotTo(Equal(want), "nothing would be noticed")
		})
	}
}

// failing fails to read the ApplicationSet, in one of several ways.
type failing struct {
	*scenario.Cluster
	fail func() error
}

// ApplicationSet returns the right one beside the error, for which it must not count.
func (f failing) ApplicationSet(context.Context, types.NamespacedName) (*argocd.ApplicationSet, error) {
	return argocd.NewApplicationSet(f.Sets[0]), f.fail()
}

// Evaluate waits until it is ended, as a read would that nobody needs any more.
func (f failing) Evaluate(ctx context.Context, _ policy.Input, _ policy.Decision) (policy.Decision, error) {
	<-ctx.Done()
	return policy.Decision{Outcome: policy.Allow}, nil
}

// TestNoAllowWithoutTheLiveApplicationSet has it not be read: what was known is no proof, and nothing waits for reads
// whose answer is not needed.
func TestNoAllowWithoutTheLiveApplicationSet(t *testing.T) {
	for name, fail := range map[string]func() error{
		"the read fails":         func() error { return scenario.ErrRead },
		"the read is a panic":    func() error { panic("an object of a shape that nobody expected") },
		"the read has ended":     func() error { return context.Canceled },
		"the answer is nonsense": func() error { return errors.New("the answer is not this object") },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(open)
			trial := newTrial(scenario.Config(), failing{c, fail})
			trial.judge.Known = scenario.Watched{Cluster: c}
			resp := trial.handle(scenario.SyncOf(c, "prod").Request())
			g.Expect(resp.Allowed).To(BeFalse())
			g.Expect(resp.Result.Code).To(Equal(int32(503)))
			events := trial.posted()
			g.Expect(events).To(HaveLen(1))
			g.Expect(events[0].Reason).To(Equal("SyncGateError"))
		})
	}
}

// TestASiblingThatCannotBeRead is no decision, also where the ApplicationSet is known.
func TestASiblingThatCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	for failAt := 1; failAt <= 2; failAt++ {
		c := scenario.Of(open)
		c.FailAt = failAt
		trial := newTrial(scenario.Config(), c)
		trial.judge.Known = scenario.Watched{Cluster: c}
		resp := trial.handle(scenario.SyncOf(c, "prod").Request())
		g.Expect(resp.Allowed).To(BeFalse(), "read %d", failAt)
		g.Expect(resp.Result.Code).To(Equal(int32(503)), "read %d", failAt)
	}
}
