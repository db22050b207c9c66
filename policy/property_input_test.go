// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strconv"
	"strings"
	"time"

	"github.com/stepgate/stepgate/policy"
)

// choices turns bytes into an Input, one byte per choice, so that a fuzzer and a random source can both drive it. The
// first option of each choice is the ordinary one: it is also what is chosen when the bytes have run out.
type choices struct{ left []byte }

func (c *choices) upTo(n int) int {
	if len(c.left) == 0 {
		return 0
	}
	chosen := int(c.left[0]) % n
	c.left = c.left[1:]
	return chosen
}

// rarely is true once in so many choices.
func (c *choices) rarely(once int) bool { return c.upTo(once) == once-1 }

func of[T any](c *choices, from ...T) T { return from[c.upTo(len(from))] }

func inputFrom(data []byte) policy.Input {
	c := &choices{left: data}
	in := policy.Input{
		Settings: policy.Settings{
			Require: of(c, policy.RequireRevision, policy.RequireRevision, policy.RequireCompleted, policy.RequireHealth),
			Off:     c.rarely(30), Bypassed: c.rarely(30), GateRollbacks: c.rarely(2), AllowFailedOperations: c.rarely(4),
			Candidates: c.rarely(4),
		},
	}
	if !c.rarely(30) {
		in.ApplicationSet = c.applicationSet()
	}
	in.Target = c.target()
	for i := range c.upTo(6) {
		sibling := c.application()
		// Names are unique within a namespace; the target may be among its own siblings.
		sibling.Name = of(c, "app-", "app-", strings.Repeat("n", 248)) + strconv.Itoa(i)
		in.Siblings = append(in.Siblings, siblingOf(in.ApplicationSet, &sibling))
	}
	in.History = c.seen(in)
	in.Settings.Conditions, in.Now = c.conditions(in.Target.Wanted), of(c, second("200"), c.time())
	if c.rarely(12) {
		in.Window = policy.Window{Closed: true, OpensAt: c.time(), Detail: of(c, "deny window", c.hostile())}
	}
	answer := of(c, policy.Yes, policy.Yes, policy.No, policy.NoAnswer)
	in.Evidence = func(policy.Verification, string) policy.Finding {
		return policy.Finding{Answer: answer, Detail: "smoke"}
	}
	in.Settings.Excluded = map[string]bool{"app-2": c.rarely(20), "gone": c.rarely(20)}
	if c.rarely(8) {
		in.Slots = &policy.Slots{Most: c.upTo(2)} // the others of the step are counted elsewhere
	}
	return in
}

// conditions are mostly none.
func (c *choices) conditions(wanted []policy.Source) (cs policy.Conditions) {
	if !c.rarely(3) {
		return cs
	}
	cs.Paused = of(c, cs.Paused, cs.Paused, cs.Paused, policy.Steps{All: true}, policy.Steps{Of: []int{1, 2}})
	cs.PausedWhy = of(c, "", c.hostile())
	cs.Soak = of(c, cs.Soak, policy.Soak{Every: time.Minute}, policy.Soak{
		Of: map[int]time.Duration{2: 100 * time.Second},
	}, policy.Soak{Every: 101 * time.Second}, policy.Soak{Unreadable: c.rarely(3)})
	cs.Approve = of(c, cs.Approve, cs.Approve, policy.Steps{All: true}, policy.Steps{Of: []int{2}})
	cs.FourEyes = c.rarely(2)
	if c.rarely(2) {
		cs.Approved = []policy.Approval{
			{Step: of(c, 2, 1, 0), What: of(c, policy.ApprovalOf(wanted), "a"), By: of(c, "alice", "", c.hostile()), At: c.time()},
		}
	}
	if c.rarely(4) {
		cs.Verify.Of = []policy.Verification{{Step: of(c, 2, 1, 0), Object: of(c, "jobs.batch/smoke", c.hostile())}}
	}
	if c.rarely(2) {
		cs.MaxFailures = &policy.Budget{Most: of(c, 0, 1, 10), Percent: c.rarely(2)}
	}
	return cs
}

func (c *choices) seen(in policy.Input) policy.History {
	past := map[string]policy.Past{}
	seen := policy.History{Altered: c.rarely(4), Unproven: c.rarely(4), ContentSince: c.time(),
		Of: func(name string) policy.Past {
			return past[name]
		}}
	if c.rarely(10) {
		seen.Joined, seen.Respecified = in.Now.Add(-time.Second), in.Now.Add(-policy.SettlingTime)
	}
	for _, sibling := range in.Siblings {
		seen := policy.Past{Freshness: of(c, policy.Unknown, policy.Fresh, policy.Newest), Altered: c.rarely(10)}
		if c.rarely(3) {
			seen.Completions = []policy.Completion{
				{Sources: in.Target.Wanted}, {Sources: sibling.Compared, OperatedAt: sibling.LastOperation.StartedAt},
			}
		}
		past[sibling.Name] = seen
	}
	past[in.Target.Name] = policy.Past{Step: of(c, 0, 0, 0, 0, 1, 2, 3, 9)}
	return seen
}

func (c *choices) applicationSet() *policy.ApplicationSet {
	set := &policy.ApplicationSet{
		Namespace: "argocd", Name: of(c, "guestbook", strings.Repeat("s", 253)),
		RollingSync: !c.rarely(30), Deleting: c.rarely(30), Failing: of(c, "", "", c.hostile()),
	}
	for i := range of(c, 3, 3, 3, 3, 3, 3, 4, 4, 4, 2, 1, 0) {
		step := policy.Step{{
			Key: "step", Operator: of(c, "In", "In", "In", "In", "In", "In", "NotIn", "Exists"), Values: []string{strconv.Itoa(i + 1)},
		}}
		if c.rarely(6) {
			step = append(step, policy.Expression{
				Key: "env", Operator: of(c, "In", "NotIn", ""), Values: of(c, nil, []string{"dev"}),
			})
		}
		if c.rarely(20) {
			step = nil
		}
		set.Steps = append(set.Steps, step)
	}
	set.Recorded = map[string]policy.Recorded{}
	for _, name := range []string{"app-0", "app-1", "app-5", "gone", "target"} {
		if c.rarely(6) {
			set.Recorded[name] = policy.Recorded{
				Step: of(c, 1, 2, 3, -1, 0, -7), TransitionedAt: c.time(), Started: c.rarely(2), Healthy: c.rarely(2), Revisions: of(c, nil, []string{"a"}),
			}
		}
	}
	return set
}

func (c *choices) target() policy.Target {
	t := policy.Target{
		Managed: !c.rarely(30), Deleting: c.rarely(20), SameSources: !c.rarely(4), SpecCompared: !c.rarely(20),
		Operation: policy.Operation{
			Written: !c.rarely(30), DryRun: c.rarely(30), Automated: c.rarely(2), RollsBack: c.rarely(10), Foreign: c.rarely(20), Pinned: c.rarely(2), Redeploys: c.rarely(20),
		},
		ReconciledAt:  of(c, second("101"), second("100"), second("99.5"), second("101"), c.time()),
		Compared:      c.sources(),
		Hydration:     of(c, "", "", "Hydrated", "Hydrating", "Failed", policy.Uncompared, policy.Outdated),
		SyncStartedAt: of(c, second("102"), c.time()), SyncFinishedAt: of(c, second("103"), c.time()),
		Ran: of(c, nil, c.sources()),
	}
	t.Name = of(c, "app-0", "target", "target")
	t.Labels, t.OldLabels = c.labels("3", "3", "3", "2", "1", "0"), c.labels("3", "3", "2", "1", "0")
	t.Wanted = of(c, t.Compared, t.Compared, c.sources())
	return t
}

func (c *choices) application() policy.Application {
	return policy.Application{
		Labels:           c.labels("1", "1", "2", "2", "3", "0"),
		Deleting:         c.rarely(20),
		RefreshRequested: c.rarely(20),
		OperationSet:     c.rarely(20),
		Health:           of(c, "Healthy", "Healthy", "Healthy", "Healthy", "Healthy", "Healthy", "Healthy", "Healthy", "Healthy", "Healthy", "Degraded", "", c.hostile()),
		HealthSince:      of(c, time.Time{}, second("50"), second("140"), c.time()),
		SyncStatus:       of(c, "Synced", "Synced", "Synced", "Synced", "Synced", "Synced", "Synced", "Synced", "OutOfSync", "OutOfSync", "Unknown", "", c.hostile()),
		SpecCompared:     !c.rarely(20),
		ReconciledAt:     of(c, second("101"), second("100"), second("99.5"), second("101"), c.time()),
		Compared:         c.sources(),
		LastOperation: policy.LastOperation{
			Phase:      of(c, "Succeeded", "", "Succeeded", "Succeeded", "Succeeded", "Failed", "Error", "Running", "Terminating", c.hostile()),
			FinishedAt: of(c, second("50"), second("50"), c.time()),
		},
		LastFull: policy.FullSync{
			Phase:      of(c, "Succeeded", "", "Succeeded", "Succeeded", "Succeeded", "Failed", "Error", c.hostile()),
			FinishedAt: of(c, second("50"), second("50"), c.time()), AtCompared: c.rarely(2),
		},
		LastSync:  policy.LastSync{FinishedAt: c.time(), AtCompared: c.rarely(2), SameSources: c.rarely(2), Since: c.time(), By: of(c, "", "alice")},
		Hydration: of(c, "", "", "", "", "", "", "", "", "Hydrated", "Hydrating", "Failed"),
		Ran:       of(c, nil, c.sources()),
	}
}

func (c *choices) labels(steps ...string) map[string]string {
	switch c.upTo(12) {
	case 11:
		return nil
	case 10:
		return map[string]string{"step": of(c, steps...), "env": of(c, "dev", "")}
	default:
		return map[string]string{"step": of(c, steps...)}
	}
}

func (c *choices) sources() []policy.Source {
	var all []policy.Source
	for range of(c, 1, 1, 2, 0) {
		all = append(all, policy.Source{
			Key:      of(c, "common", "common", "lib"),
			Revision: of(c, "a", "a", "a", "a", "b", "", "864496e0c1a2b3d4e5f60718293a4b5c6d7e8f90", c.hostile()),
		})
	}
	return all
}

func (c *choices) time() time.Time {
	return of(c, time.Time{}, second("99"), second("100"), second("100.5"), second("101"), second("102"))
}

// hostile is text that whoever may write an Application's status can choose.
func (c *choices) hostile() string {
	return of(c, "a\nb", "\x00", "\u202e", "\xff\xfe", "é", strings.Repeat("long ", 500), " ", "); all is well",
		string(c.left))
}
