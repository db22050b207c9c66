package policy_test

import "github.com/stepgate/stepgate/policy"

// againRows are syncs of an Application that became Pending at second 50, where its sync began at a second.
func againRows() map[string]row {
	again := func(scenario string) row {
		return row{
			scenario: scenario, wantReason: policy.AlreadySynced,
			wantMessage: "step 2 of ApplicationSet argocd/guestbook may not sync again: the Application has been synced in its turn",
		}
	}
	admit := func(scenario string) row {
		return row{
			scenario: scenario, wantOutcome: policy.Allow, wantReason: policy.EarlierStepsDone, wantMessage: "allow (EarlierStepsDone)",
		}
	}
	rows := map[string]row{
		"the controller asks for the same sync again": again("1:dev > 2:prod,auto,began:51 | prod/2/50"),
		"again, after the controller has noticed":     again("1:dev > 2:prod,auto,began:51 | prod/2/52/started"),
		"somebody syncs again":                        admit("1:dev > 2:prod,began:51 | prod/2/50"),
		"the operation names its revision":            admit("1:dev > 2:prod,auto,pinned,began:51 | prod/2/50"),
		"it was synced before its turn":               admit("1:dev > 2:prod,auto,began:49 | prod/2/50"),
		"it was synced in the second of its turn":     admit("1:dev > 2:prod,auto,began:50 | prod/2/50"),
		"it is not known when its turn began":         admit("1:dev > 2:prod,auto,began:51"),
		"the same, and the history says so":           again("1:dev > 2:prod,auto,began:51,ran:a | prod/2/50"),
		"the sync was of another revision":            admit("1:dev > 2:prod,auto,began:51,ran:b | prod/2/50"),
		"the sync was of another source":              admit("1:dev@a,fresh > 2:prod,auto,began:51,ran:a,respecified | prod/2/50"),
		"the sync was to another destination":         admit("1:dev@a,fresh > 2:prod,auto,began:51,ran:a,moved | prod/2/50"),
		"it was found OutOfSync after the sync":       admit("1:dev > 2:prod,auto,began:51,mend | prod/2/50"),
	}
	lenient := admit("1:dev > 2:prod,auto,began:51 | prod/2/50")
	lenient.settings.Require = policy.RequireSynced
	rows["where no revision is asked for"] = lenient
	rows["what holds it up comes first"] = row{
		scenario: "1:dev=Degraded > 2:prod,auto,began:51 | prod/2/50", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy",
		wantMessage: "step 2 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
	}
	first := row{
		scenario: "> 1:prod,auto,began:51 | prod/1/50", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)", wantSettled: true,
	}
	rows["the first step may always sync again"] = first
	return rows
}

// provenRows are syncs of qa, on a train, to a, which dev has completed and gone on from to b. qa has been synced from
// second 50 to 52.
func provenRows() map[string]row {
	of := func(now string, edit func(in *policy.Input)) row {
		r := row{
			scenario: "1:dev@b,ran:a+b,insync:b,synced:53,ended:53,later > 2:qa@b,wants:a,auto,pinned,began:50",
			settings: policy.Settings{Train: true},
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
	waits.wantOutcome, waits.wantReason = policy.Deny, policy.NotProven
	waits.wantMessage = "step 2 of ApplicationSet argocd/guestbook may not sync before 2026-09-21T12:01:00Z " +
		"(NotProven: it has just been synced, and has to be found Healthy before it goes on). Next: wait"
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
