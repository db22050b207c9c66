package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

const smoke = "analysisruns.argoproj.io/smoke"

// saying is evidence of one Verification for step 2, which says something about revision a, and nothing about others.
func saying(r row, found policy.Finding) row {
	r.settings.Conditions.Verify.Of = append(r.settings.Conditions.Verify.Of, policy.Verification{Step: 1, Object: smoke})
	r.edit = func(in *policy.Input) {
		in.Evidence = func(v policy.Verification, what string) policy.Finding {
			if v.Object != smoke || what != "a" {
				return policy.Finding{Detail: "there is none"}
			}
			return found
		}
	}
	return r
}

func evidenceRows() map[string]row {
	const next = "). Next: wait for it, or see why it does not come"
	unverified := func(scenario, detail string) row {
		return row{
			scenario: scenario, wantReason: policy.Unverified,
			wantMessage: "step 2" + guest + "is not verified (Unverified: " + detail + next,
		}
	}
	failed := row{
		scenario: "1:dev > 2:prod", wantReason: policy.VerifyFailed, wantMessage: "step 2" + guest + "may not deploy this " +
			"(VerifyFailed: " + smoke + ": smoke says no (Degraded)). Next: deploy another revision, or have it verified again",
	}
	yes := policy.Finding{Answer: policy.Yes, Detail: "smoke says yes (Healthy)"}
	no := policy.Finding{Answer: policy.No, Detail: "smoke says no (Degraded)"}
	const progressing = "smoke says not yet (Progressing)"
	two := func(r row) row {
		all := &r.settings.Conditions.Verify.Of
		*all = append([]policy.Verification{{Step: 1, Object: "jobs.batch?a=b"}}, *all...)
		return r
	}
	approve := saying(unverified("1:dev > 2:prod", smoke+": "+progressing), policy.Finding{Detail: progressing})
	approve.settings.Conditions.Approve = policy.Steps{All: true}
	nobody := saying(unverified("1:dev > 2:prod", smoke+": nobody has looked"), yes)
	nobody.edit = nil
	return map[string]row{
		"evidence says yes":                   saying(allowed("1:dev > 2:prod"), yes),
		"evidence says nothing yet":           saying(unverified("1:dev > 2:prod", smoke+": "+progressing), policy.Finding{Detail: progressing}),
		"evidence says no":                    saying(failed, no),
		"evidence is of another revision":     saying(unverified("1:dev@b,fresh > 2:prod@b", smoke+": there is none"), yes),
		"nobody has looked for evidence":      nobody,
		"one of two says nothing":             two(saying(unverified("1:dev > 2:prod", "jobs.batch?a=b: there is none"), yes)),
		"one of two says no":                  two(saying(failed, no)),
		"evidence comes before the approval":  approve,
		"the order comes before the evidence": saying(row{scenario: "1:dev=Degraded > 2:prod", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"}, no),
		"a rollback without evidence":         saying(exempt("1:dev > 2:prod,back", policy.Rollback), no),
		"another step waits for evidence":     saying(allowed("1:dev 2:qa > 3:prod"), no),
		"the evidence of the first step": on(row{
			scenario: "> 1:dev", wantReason: policy.Unverified,
			wantMessage: "step 1" + guest + "is not verified (Unverified: x.y/z: nobody has looked" + next,
		}, policy.Conditions{Verify: policy.Verify{Of: []policy.Verification{{Object: "x.y/z"}}}}),
		"what to look for cannot be read": on(unverified("1:dev > 2:prod", "the annotation stepgate.io/verify cannot be read: why"),
			policy.Conditions{Verify: policy.Verify{Unreadable: "why"}}),
		"nobody knows what is to be verified": saying(unverified("1:dev@-,fresh > 2:prod@-", smoke+": the operation does not say which revision it deploys"), yes),
	}
}

// TestVerified turns an allow without evidence into a denial, and nothing else.
func TestVerified(t *testing.T) {
	g := NewWithT(t)
	in := saying(row{scenario: "1:dev > 2:prod"}, policy.Finding{Answer: policy.No, Detail: "no"}).input()
	later := in
	later.Evidence = policy.AskedLater
	d := policy.Evaluate(later)
	g.Expect(d.Outcome).To(Equal(policy.Allow))
	g.Expect(policy.Verified(in, d).Reason).To(Equal(policy.VerifyFailed))
	in.Evidence = nil
	g.Expect(policy.Verified(in, d).Reason).To(Equal(policy.Unverified), "nobody has looked")
	in.Settings.Conditions.Verify.Of = nil
	g.Expect(policy.Verified(in, d)).To(Equal(d))
	free := policy.Decision{Outcome: policy.NotGated, Reason: policy.Bypassed, Step: 1}
	g.Expect(policy.Verified(later, free)).To(Equal(free))
}
