package policy_test

import "github.com/stepgate/stepgate/policy"

const (
	refreshDev  = ". Next: refresh dev: argocd app get dev --refresh"
	comparedOld = "(ComparisonOlder: compared before the change to prod was seen)" + refreshDev
)

// revisionRows ask whether a sibling that shares a source with the target was compared with what the target deploys.
func revisionRows() map[string]row {
	allow := row{wantOutcome: policy.Allow, wantReason: policy.EarlierStepsDone, wantMessage: "allow (EarlierStepsDone)"}
	deny := func(scenario, compared, wanted string) row {
		return row{
			scenario: scenario, wantReason: policy.RevisionMismatch, wantBlockers: "1:dev=RevisionMismatch",
			wantMessage: one + "(RevisionMismatch: compared to " + compared + ", not " + wanted + ")" + refreshDev,
		}
	}
	admit := func(scenario string) row { r := allow; r.scenario = scenario; return r }
	const (
		commitA = "864496e0c1a2b3d4e5f60718293a4b5c6d7e8f90"
		commitB = "78de5d3a0b1c2d3e4f5061728394a5b6c7d8e9f0"
	)
	return map[string]row{
		"the same revision":                          admit("1:dev@b > 2:prod@b"),
		"the same revision, compared long ago":       admit("1:dev@b,at:1 > 2:prod@b,seen:101"),
		"commits are shortened":                      deny("1:dev@"+commitA+" > 2:prod@"+commitB, "864496e", "78de5d3"),
		"chart versions are not shortened":           deny("1:dev@1.2.3 > 2:prod@1.10.0-rc.1", "1.2.3", "1.10.0-rc.1"),
		"compared in the same second":                deny("1:dev@a,at:100 > 2:prod@b,at:100", "a", "b"),
		"compared before the target":                 deny("1:dev@a,at:99 > 2:prod@b,at:100", "a", "b"),
		"ahead by time":                              admit("1:dev@c,at:101 > 2:prod@b,at:100"),
		"ahead by history":                           admit("1:dev@c,at:50,ran:a+b > 2:prod@b"),
		"history of another source proves nothing":   deny("1:dev@a,at:50,ran:lib:b > 2:prod@b", "a", "b"),
		"later, but at what the target has run":      deny("1:dev@a,at:101 > 2:prod@b,ran:a", "a", "b"),
		"later, the target ran that elsewhere":       admit("1:dev@c,at:101 > 2:prod@b,ran:lib:c"),
		"in its history, at what the target has run": admit("1:dev@a,at:101,ran:b > 2:prod@b,ran:a"),
		"later, but the target's wish is explicit":   deny("1:dev@c,at:101 > 2:prod@a,wants:b", "c", "b"),
		"an explicit wish it has run":                admit("1:dev@c,at:50,ran:b > 2:prod@a,wants:b"),
		"an explicit wish it was compared with":      admit("1:dev@b,at:50 > 2:prod@a,wants:b"),
		"explicit, and what the target is at anyway": admit("1:dev@c,at:101 > 2:prod@b,wants:b"),
		"the target was compared with what is old":   deny("1:dev@a > 2:prod@a,wants:b", "a", "b"),

		"a source left behind still has to match": deny("1:dev@a > 2:prod@b,wants:lib:x", "a", "b"),
		"a source left behind, and it does match": admit("1:dev@b > 2:prod@b,wants:lib:x"),

		"all of many sources agree":                  admit("1:dev@a+lib:x > 2:prod@a+lib:x"),
		"one of many sources differs":                deny("1:dev@a+lib:x > 2:prod@a+lib:y", "x", "y"),
		"one source is common and equal":             admit("1:dev@a+lib:x,at:50 > 2:prod@a+other:y,seen:101"),
		"one source is common and differs":           deny("1:dev@lib:x+a > 2:prod@b+other:y", "a", "b"),
		"the target wants two of one source":         admit("1:dev@c > 2:prod@b+c"),
		"neither of two of one source":               deny("1:dev@a > 2:prod@c+b", "a", "b or c"),
		"two of one source, one of them its own":     deny("1:dev@d,at:101 > 2:prod@b,wants:b+c", "d", "b or c"),
		"the same source twice, one of them behind":  deny("1:dev@b+a > 2:prod@b", "a", "b"),
		"the sibling's revision is not known":        admit("1:dev@common: > 2:prod@b"),
		"the target's revision is not known":         admit("1:dev@a > 2:prod@common:"),
		"the target's own revision is of no account": deny("1:dev@a > 2:prod@common:,wants:b", "a", "b"),
	}
}

// timeRows ask about siblings that share no source with the target: they are judged by time.
func timeRows() map[string]row {
	admit := func(scenario string) row {
		return row{scenario: scenario, wantOutcome: policy.Allow, wantReason: policy.EarlierStepsDone, wantMessage: "allow (EarlierStepsDone)"}
	}
	deny := func(scenario string) row {
		return row{
			scenario: scenario, wantReason: policy.ComparisonOlder, wantBlockers: "1:dev=ComparisonOlder",
			wantMessage: one + comparedOld,
		}
	}
	return map[string]row{
		"compared after the change was seen":              admit("1:dev@lib:x,at:102 > 2:prod,seen:101"),
		"compared a second before the change was seen":    deny("1:dev@lib:x,at:100 > 2:prod,seen:101"),
		"compared in the second in which it was seen":     admit("1:dev@lib:x,at:101 > 2:prod,seen:101.9"),
		"compared in the second before, a moment earlier": deny("1:dev@lib:x,at:100 > 2:prod,seen:101.1"),
		"a part of a second does not make it later":       admit("1:dev@lib:x,at:101.1 > 2:prod,seen:101.9"),
		"first seen by the ApplicationSet controller":     deny("1:dev@lib:x,at:100 > 2:prod | prod/2/101"),
		"seen by the controller before the comparison":    admit("1:dev@lib:x,at:101 > 2:prod | prod/2/101"),
		"stepgate's own sight comes first, later":         deny("1:dev@lib:x,at:100 > 2:prod,seen:101 | prod/2/99"),
		"stepgate's own sight comes first, earlier":       admit("1:dev@lib:x,at:100 > 2:prod,seen:99 | prod/2/101"),
		"the record of another is of no account":          admit("1:dev@lib:x,at:100 > 2:prod | qa/2/101"),
		"the target's own comparison is of no account":    admit("1:dev@lib:x,at:100 > 2:prod,at:500"),
		"nobody saw the change":                           admit("1:dev@lib:x,at:1 > 2:prod"),
		"the target has no source":                        deny("1:dev,at:100 > 2:prod@-,seen:101"),
		"the sibling has no source":                       deny("1:dev@-,at:100 > 2:prod,seen:101"),
		"a revision not known is no common source":        deny("1:dev@common:,at:100 > 2:prod,seen:101"),
		"a revision not wanted is no common source":       deny("1:dev@a,at:100 > 2:prod@common:,seen:101"),
		"history proves nothing about other sources":      deny("1:dev@lib:x,at:100,ran:a > 2:prod,seen:101"),
	}
}
