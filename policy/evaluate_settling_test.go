// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// settlingRows have the ApplicationSet controller at work.
func settlingRows() map[string]row {
	const before = " may not sync before 2026-09-21T12:01:50Z: prod (NotGenerated: the ApplicationSet controller may " +
		"still be writing its Applications). Next: wait"
	const failing = " may not sync yet: prod (NotGenerated: the ApplicationSet reports an error, and may not have " +
		"written an Application of an earlier step: " +
		"no such project). Next: repair the ApplicationSet: kubectl get applicationset guestbook -n argocd -o yaml"
	seen := func(r row, edit func(*policy.History)) row {
		r.edit = func(in *policy.Input) {
			in.Now = second("109.5")
			edit(&in.History)
		}
		return r
	}
	joined := func(s *policy.History) { s.Joined = second("100") }
	respecified := func(s *policy.History) { s.Respecified = second("100") }
	changed := func(s *policy.History) { s.ContentSince = second("100") }
	another := func(s *policy.History) { s.ContentSince, s.ByAnother = second("100"), true }
	long := func(s *policy.History) {
		s.Joined, s.Respecified, s.ContentSince = second("99"), second("98"), second("97")
	}
	wait := func(scenario string) row {
		return row{scenario: scenario, wantReason: policy.NotGenerated, wantMessage: "step 2" + guest[:len(guest)-1] + before}
	}
	at := func(level policy.Require, r row) row { r.settings.Require = level; return r }
	first := row{
		scenario: "2:qa > 1:dev,respecified | failing", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)", wantSettled: true,
	}
	none := func(r row) row { r.settings.Settling = -1; return r }
	return map[string]row{
		"one has appeared, and nobody waits":               none(seen(allowed("1:dev > 2:prod"), joined)),
		"an error of the controller, and nobody waits":     none(row{scenario: "1:dev,fresh > 2:prod,respecified | failing", wantReason: policy.NotGenerated, wantMessage: "step 2" + guest[:len(guest)-1] + failing}),
		"one has appeared a moment ago":                    seen(wait("1:dev > 2:prod"), joined),
		"a spec was written, and the target's has changed": seen(wait("1:dev,fresh > 2:prod,respecified"), respecified),
		"the same, of its destination":                     seen(wait("1:dev,fresh > 2:prod,moved"), respecified),
		"the target's was written, and not the others'":    seen(wait("1:dev,fresh > 2:prod,respecified"), changed),
		"another writer wrote the target's":                seen(allowed("1:dev,fresh > 2:prod,respecified"), another),
		"another writer wrote the target's, and the controller one": seen(wait("1:dev,fresh > 2:prod,respecified"),
			func(s *policy.History) { respecified(s); another(s) }),
		"a spec was written, and that pass has ended": seen(allowed("1:dev,fresh > 2:prod,respecified"), func(s *policy.History) {
			respecified(s)
			changed(s)
			s.PassEnded = true
		}),
		"more than sources was written, and that pass has ended": seen(wait("1:dev,fresh > 2:prod,respecified"), func(s *policy.History) {
			respecified(s)
			s.AroundSince, s.PassEnded = second("100"), true
		}),
		"one has appeared, and a pass has ended": seen(wait("1:dev,fresh > 2:prod,respecified"), func(s *policy.History) {
			joined(s)
			s.PassEnded = true
		}),
		"a spec was written, and the target's is deployed": seen(allowed("1:dev > 2:prod"), respecified),
		"nothing was written for a while":                  seen(allowed("1:dev,fresh > 2:prod,respecified"), long),
		"at the level completed":                           at(policy.RequireCompleted, seen(wait("1:dev > 2:prod"), joined)),
		"at the level health":                              at(policy.RequireHealth, seen(allowed("1:dev > 2:prod"), joined)),
		"who is not done is told first": seen(row{
			scenario: "1:dev=Degraded > 2:prod", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		}, joined),
		"the first step waits for nobody's spec":       seen(first, joined),
		"an error of the controller, and a new spec":   {scenario: "1:dev,fresh > 2:prod,respecified | failing", wantReason: policy.NotGenerated, wantMessage: "step 2" + guest[:len(guest)-1] + failing},
		"an error of the controller, and a new commit": allowed("1:dev@b > 2:prod@b,ran:a | failing"),
	}
}

// leftRows have an Application of step 1 be OutOfSync, and its owner leave it so.
func leftRows() map[string]row {
	at := func(level policy.Require, r row) row { r.settings.Require = level; return r }
	deny := func(scenario, message string) row {
		return row{
			scenario: scenario, wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted", wantMessage: one + message,
		}
	}
	const sync = "(NotCompleted: OutOfSync). Next: sync dev first: argocd app sync dev"
	const prune = "(NotCompleted: OutOfSync, only pruning is left). Next: prune it: argocd app sync dev --prune; if it " +
		"is OutOfSync on purpose, set the annotation stepgate.io/require: completed"
	return map[string]row{
		"only pruning is left":                            deny("1:dev=Healthy/OutOfSync@b,syncedold:50,prune > 2:prod@b", prune),
		"only pruning is left, on purpose":                at(policy.RequireCompleted, allowed("1:dev=Healthy/OutOfSync@b,syncedold:50,prune > 2:prod@b")),
		"only pruning is left, and it has other sources":  at(policy.RequireCompleted, deny("1:dev=Healthy/OutOfSync@b,syncedelse:50,prune > 2:prod@b", prune)),
		"only pruning is left, of another revision":       at(policy.RequireCompleted, row{scenario: "1:dev=Healthy/OutOfSync@a,syncedold:50,prune > 2:prod@b", wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted", wantMessage: one + "(NotCompleted: compared to a, not b). Next: refresh dev: argocd app get dev --refresh"}),
		"more is left, on purpose":                        at(policy.RequireCompleted, deny("1:dev=Healthy/OutOfSync@b,syncedold:50 > 2:prod@b", sync)),
		"it has deployed it, and is OutOfSync on purpose": at(policy.RequireCompleted, allowed("1:dev=Healthy/OutOfSync@b,synced:50,at:60 > 2:prod@b")),
		"it has deployed it elsewhere":                    at(policy.RequireCompleted, deny("1:dev=Healthy/OutOfSync@b,synced:50,at:60,moved > 2:prod@b", sync)),
		"it has deployed it, and is Degraded":             at(policy.RequireCompleted, row{scenario: "1:dev=Degraded/OutOfSync@b,synced:50,at:60 > 2:prod@b", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"}),
	}
}

// TestSettlingEnds asks for the moment at which a wait for specs ends: nobody has to look again before.
func TestSettlingEnds(t *testing.T) {
	g := NewWithT(t)
	in := scenario("1:dev > 2:prod")
	in.History.Joined, in.Now = second("100.25"), second("101")
	d := policy.Evaluate(in)
	g.Expect(d.Reason).To(Equal(policy.NotGenerated))
	g.Expect(d.NotBefore).To(Equal(second("100.25").Add(policy.SettlingTime)))
	in.Now = d.NotBefore
	g.Expect(policy.Evaluate(in).Outcome).To(Equal(policy.Allow))
	in.Now = d.NotBefore.Add(-time.Nanosecond)
	g.Expect(policy.Evaluate(in).Outcome).To(Equal(policy.Deny))
}
