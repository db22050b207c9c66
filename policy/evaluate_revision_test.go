// SPDX-License-Identifier: Apache-2.0

package policy_test

import "github.com/stepgate/stepgate/policy"

const (
	refreshDev = ". Next: refresh dev: argocd app get dev --refresh"
	notFresh   = "(NotCompleted: not known to be compared since the change to prod was seen)" + refreshDev
)

func allowed(scenario string) row {
	return row{
		scenario: scenario, wantOutcome: policy.Allow, wantReason: policy.EarlierStepsDone, wantMessage: "allow (EarlierStepsDone)",
	}
}

// outdated is a denial because a sibling was compared with something newer than prod; seen says how.
func outdated(scenario, seen string) row {
	return row{
		scenario: scenario, wantReason: policy.NotCompleted,
		wantMessage: "step 2 of ApplicationSet argocd/guestbook may not sync yet: prod (NotCompleted: compared to " + seen +
			" since). Next: refresh prod: argocd app get prod --refresh",
	}
}

// revisionRows ask whether a sibling that shares a source with the target was compared with what the target deploys.
func revisionRows() map[string]row {
	deny := func(scenario, compared, wanted string) row {
		return row{
			scenario: scenario, wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted",
			wantMessage: one + "(NotCompleted: compared to " + compared + ", not " + wanted + ")" + refreshDev,
		}
	}
	const (
		commitA = "864496e0c1a2b3d4e5f60718293a4b5c6d7e8f90"
		commitB = "78de5d3a0b1c2d3e4f5061728394a5b6c7d8e9f0"
	)
	return map[string]row{
		"the same revision":                    allowed("1:dev@b > 2:prod@b"),
		"the same revision, compared long ago": allowed("1:dev@b,at:1 > 2:prod@b"),
		"commits are shortened":                deny("1:dev@"+commitA+" > 2:prod@"+commitB, "864496e", "78de5d3"),
		"chart versions are not shortened":     deny("1:dev@1.2.3 > 2:prod@1.10.0-rc.1", "1.2.3", "1.10.0-rc.1"),

		// Which of two revisions is newer is told by histories and by comparisons that are known to be fresh.
		"compared later proves nothing":                  deny("1:dev@c,at:200 > 2:prod@b,pinned", "c", "b"),
		"it has run it and gone on":                      deny("1:dev@c,ran:a+b > 2:prod@b,pinned", "c", "b"),
		"it has run it, gone on and deployed that":       allowed("1:dev@c,later,ran:a+b+c > 2:prod@b,pinned"),
		"it has run it and gone back":                    deny("1:dev@a,ran:a+b > 2:prod@b,pinned", "a", "b"),
		"it has run it, gone back and deployed that":     deny("1:dev@a,ran:a+b+a > 2:prod@b,pinned", "a", "b"),
		"it has tried it, and gone back to the target's": deny("1:dev@d,ran:a+c+b+d > 2:prod@c,ran:a+b,pinned", "d", "c"),
		"it has run it twice, back and forth":            deny("1:dev@a,ran:b+a+b > 2:prod@b,pinned", "a", "b"),
		"history of another source proves nothing":       deny("1:dev@c,ran:lib:b > 2:prod@b,pinned", "c", "b"),
		"a fresh comparison has found a newer one":       outdated("1:dev@c,later > 2:prod@b,pinned", "b, and dev to c"),
		"that, and it was done with the wanted one":      allowed("1:dev@c,later,ran:b > 2:prod@b,pinned"),
		"that, and it was not done with the wanted one":  outdated("1:dev@c,later,ran:b,incomplete > 2:prod@b,pinned", "b, and dev to c"),
		"the target was compared since that":             deny("1:dev@c,fresh > 2:prod@b,pinned", "c", "b"),
		"fresh, but the wish was never compared":         deny("1:dev@c,later > 2:prod@a,wants:b,pinned", "c", "b"),
		"an explicit wish that it has run":               allowed("1:dev@c,later,ran:b > 2:prod@a,wants:b,pinned"),
		"an explicit wish that it was not done with":     deny("1:dev@c,later,ran:b,incomplete > 2:prod@a,wants:b,pinned", "c", "b"),
		"an explicit wish that only a user has tried":    deny("1:dev@c,later,tried:b > 2:prod@a,wants:b,pinned", "c", "b"),
		"an explicit wish that it was compared with":     allowed("1:dev@b,at:50 > 2:prod@a,wants:b,pinned"),
		"the same, with other sources, and fresh":        allowed("1:dev@b,fresh > 2:prod@a,wants:b,pinned,respecified"),
		"the target was compared with an old one":        deny("1:dev@a > 2:prod@a,wants:b,pinned", "a", "b"),

		// The branch went back to what the target has run: the target's comparison is the old one.
		"fresh, at what the target has run":          outdated("1:dev@a,later > 2:prod@b,ran:a,pinned", "b, and dev to a"),
		"in its history, at what the target has run": outdated("1:dev@a,later,ran:b > 2:prod@b,ran:a,pinned", "b, and dev to a"),
		"the target ran that in another source":      allowed("1:dev@c,later,ran:b > 2:prod@b,ran:lib:c,pinned"),

		// Without a revision, the operation deploys the newest one that there is.
		"the branch went back, and then on":         outdated("1:dev@c,later,ran:a+b+c > 2:prod@a,ran:a+b,pinned", "a, and dev to c"),
		"the same, and the target has not run it":   outdated("1:dev@c,later,ran:a+b+c > 2:prod@a,ran:b,pinned", "a, and dev to c"),
		"no revision, and a sibling has gone on":    outdated("1:dev@c,later,at:200,ran:a+b+c > 2:prod@b", "b, and dev to c"),
		"no revision, one has gone on, one has not": outdated("1:dev1@c,later,at:200,ran:b+c 1:dev2@b > 2:prod@b", "b, and dev1 to c"),

		"a source left behind still has to match": deny("1:dev@a > 2:prod@b,wants:lib:x,pinned", "a", "b"),
		"a source left behind, and it does match": allowed("1:dev@b,later > 2:prod@b,wants:lib:x,pinned"),

		"all of many sources agree":                   allowed("1:dev@a+lib:x > 2:prod@a+lib:x"),
		"one of many sources differs":                 deny("1:dev@a+lib:x > 2:prod@a+lib:y", "x", "y"),
		"one source is common and differs":            deny("1:dev@lib:x+a > 2:prod@b+other:y", "a", "b"),
		"the target wants two of one source":          deny("1:dev@c > 2:prod@b+c", "c", "b and c"),
		"neither of two of one source":                deny("1:dev@a > 2:prod@c+b", "a", "b and c"),
		"it has run one of two of one source":         deny("1:dev@d,ran:b > 2:prod@b,wants:b+c,pinned", "d", "b and c"),
		"it has run both of two of one source":        deny("1:dev@d,later,ran:b+c > 2:prod@b,wants:b+c,pinned", "d", "b and c"),
		"the same source twice, one of them behind":   deny("1:dev@b+a > 2:prod@b", "a", "b"),
		"the sibling's revision is not known":         {scenario: "1:dev@common: > 2:prod@b", wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted", wantMessage: one + notFresh},
		"the target's own revision does not count":    deny("1:dev@a > 2:prod@common:,wants:b,pinned", "a", "b"),
		"the target's revision is nowhere to be seen": {scenario: "1:dev@a > 2:prod@common:", wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted", wantMessage: one + notFresh, edit: func(in *policy.Input) { in.Target.Wanted = nil }},
	}
}

// freshRows ask about siblings that do not share the source in which the target has a change: only a comparison that is
// known to be fresh shows that they have seen theirs.
func freshRows() map[string]row {
	deny := func(scenario string) row {
		return row{
			scenario: scenario, wantReason: policy.NotCompleted, wantBlockers: "1:dev=NotCompleted", wantMessage: one + notFresh,
		}
	}
	return map[string]row{
		"somebody asks for a refresh again and again":       allowed("1:dev@b,ran:a+b,synced:60,ended:60,later,refresh > 2:prod@b,ran:a,auto,pinned"),
		"the same, and no refresh was answered":             deny("1:dev@lib:x,refresh > 2:prod"),
		"known to be fresh":                                 allowed("1:dev@lib:x,fresh > 2:prod"),
		"compared later proves nothing about others":        deny("1:dev@lib:x,at:500 > 2:prod"),
		"the record of the controller proves nothing":       deny("1:dev@lib:x,at:500 > 2:prod | prod/2/101"),
		"history proves nothing about other sources":        deny("1:dev@lib:x,ran:a > 2:prod"),
		"the target has no source":                          deny("1:dev > 2:prod@-"),
		"the target was never compared nor recorded":        deny("1:dev@a,at:1 > 2:prod@-"),
		"the sibling has no source":                         deny("1:dev@- > 2:prod"),
		"a revision not known is no common source":          deny("1:dev@common: > 2:prod"),
		"a common source does not excuse the other":         deny("1:dev@values:x+repodev:a,at:1 > 2:prod@values:x+repoprod:b"),
		"fresh, with a common source and another":           allowed("1:dev@values:x+repodev:a,at:1,fresh > 2:prod@values:x+repoprod:b"),
		"the other source has no change":                    allowed("1:dev@values:x+repodev:a > 2:prod@values:x+repoprod:b,ran:values:w+repoprod:b"),
		"the other source went back to what ran before":     deny("1:dev@values:x+repodev:a > 2:prod@values:x+repoprod:b,ran:repoprod:b+repoprod:c"),
		"the only source has no change":                     allowed("1:dev@lib:x > 2:prod@b,ran:b"),
		"other sources, at another revision than compared":  deny("1:dev@b > 2:prod@a,wants:b,pinned,respecified"),
		"the only source has no change, but its parameters": deny("1:dev@lib:x > 2:prod@b,ran:b,respecified"),
		"the only source has no change, but it moved":       deny("1:dev@lib:x > 2:prod@b,ran:b,moved"),
		"other parameters of a common source":               allowed("1:dev@b > 2:prod@b,ran:b,respecified"),
		"a sync by hand to a commit that was not compared":  deny("1:dev@lib:x > 2:prod@b,wants:c,ran:b,pinned"),
	}
}
