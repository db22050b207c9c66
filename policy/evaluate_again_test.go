// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// TestRepeated asks for syncs of an Application that became Pending at second 50, where its sync began at a second.
func TestRepeated(t *testing.T) {
	for name, tc := range map[string]struct {
		scenario string
		want     bool
	}{
		"the controller asks for the same sync again": {"1:dev > 2:prod,auto,began:51 | prod/2/50", true},
		"again, after the controller has noticed":     {"1:dev > 2:prod,auto,began:51 | prod/2/52/started", true},
		"the operation names its revision":            {"1:dev > 2:prod,auto,pinned,began:51 | prod/2/50", true},
		"the first step syncs again":                  {"> 1:prod,auto,began:51 | prod/1/50", true},
		"the same, and the history says so":           {"1:dev > 2:prod,auto,began:51,ran:a | prod/2/50", true},
		"somebody syncs again":                        {"1:dev > 2:prod,began:51 | prod/2/50", false},
		"it was synced before its turn":               {"1:dev > 2:prod,auto,began:49 | prod/2/50", false},
		"it was synced in the second of its turn":     {"1:dev > 2:prod,auto,began:50 | prod/2/50", false},
		"it is not known when its turn began":         {"1:dev > 2:prod,auto,began:51", false},
		"the sync was of another revision":            {"1:dev > 2:prod,auto,began:51,ran:b | prod/2/50", false},
		"the sync was of another source":              {"1:dev@a,fresh > 2:prod,auto,began:51,ran:a,respecified | prod/2/50", false},
		"the sync was to another destination":         {"1:dev@a,fresh > 2:prod,auto,began:51,ran:a,moved | prod/2/50", false},
		"it was found OutOfSync after the sync":       {"1:dev > 2:prod,auto,began:51,mend | prod/2/50", false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(policy.Repeated(scenario(tc.scenario))).To(Equal(tc.want))
		})
	}
}

// TestWhatIsStoppedIsRepeated by whoever asks by himself, whatever the ApplicationSet controller records.
func TestWhatIsStoppedIsRepeated(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]bool{
		"1:dev > 2:prod,auto": true, "1:dev > 2:prod,auto | prod/2/50": true, "1:dev > 2:prod": false,
	} {
		in := scenario(text)
		in.Target.Stopped = true
		g.Expect(policy.Repeated(in)).To(Equal(want), text)
		in.Target.Stopped = false
		g.Expect(policy.Repeated(in)).To(BeFalse(), text)
	}
}

// TestARepetitionIsAllowed pins that the rule has nothing against it: the Mutator holds it.
func TestARepetitionIsAllowed(t *testing.T) {
	g := NewWithT(t)
	in := scenario("1:dev > 2:prod,auto,pinned,began:51 | prod/2/50")
	g.Expect(policy.Repeated(in)).To(BeTrue())
	d := policy.Evaluate(in)
	g.Expect(d.Outcome).To(Equal(policy.Allow))
	g.Expect(d.Again(false).Message()).To(Equal(
		"step 2 of ApplicationSet argocd/guestbook may not sync again: the Application has been synced in its turn"))
	g.Expect(d.Again(true).Message()).To(Equal(
		"step 2 of ApplicationSet argocd/guestbook may not sync again: prod: somebody has terminated its sync. Next: start it: " +
			"argocd app sync prod; another commit starts by itself"))
}

// provenRows are syncs of qa, on a train, to a, which dev has completed and gone on from to b. qa has been synced from
// second 50 to 52.
func provenRows() map[string]row {
	of := func(now string, edit func(in *policy.Input)) row {
		r := row{
			scenario: "1:dev@b,ran:a+b,insync:b,synced:53,ended:53,later > 2:qa@b,wants:a,auto,pinned,began:50",
			settings: policy.Settings{Candidates: true},
			edit: func(in *policy.Input) {
				in.Now, in.Target.SyncFinishedAt = second(now), second("52")
				if edit != nil {
					edit(in)
				}
			},
			wantOutcome: policy.Allow, wantReason: policy.EarlierStepsDone, wantMessage: "allow (EarlierStepsDone)",
		}
		return r
	}
	waits := of("59", nil)
	waits.wantOutcome, waits.wantReason = policy.Deny, policy.NotCompleted
	waits.wantMessage = "step 2 of ApplicationSet argocd/guestbook may not sync before 2026-09-21T12:01:00Z: qa " +
		"(NotCompleted: it has just been synced, and has to be found Healthy before it goes on). Next: wait"
	return map[string]row{
		"it goes on before anybody knows what came of its last sync": waits,
		"nobody has looked for long":                                 of("60", nil),
		"it was found Healthy": of("59", func(in *policy.Input) {
			dev := in.History.Of
			in.History.Of = func(name string) policy.Past {
				if name == "qa" {
					return policy.Past{Completions: []policy.Completion{{OperatedAt: second("50")}}}
				}
				return dev(name)
			}
		}),
		"a user goes on":               of("59", func(in *policy.Input) { in.Target.Operation.Automated = false }),
		"it goes on to what is newest": of("59", func(in *policy.Input) { in.Target.Wanted = in.Target.Compared }),
		"no later step is there": of("59", func(in *policy.Input) {
			in.ApplicationSet.Steps = in.ApplicationSet.Steps[:2]
		}),
	}
}
