// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"cmp"
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
		scenario: "1:dev > 2:prod", wantReason: policy.Unverified, wantMessage: "step 2" + guest + "may not deploy this " +
			"(Unverified: " + smoke + ": smoke says no (Degraded)). Next: deploy another revision, or have it verified again",
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

// TestEvidenceOfAnotherSpec does not count: prod has got its spec at 90, and not deployed it.
func TestEvidenceOfAnotherSpec(t *testing.T) {
	of := func(answer policy.Answer, name, at string) policy.Finding {
		return policy.Finding{Answer: answer, Detail: name, At: second(at)}
	}
	yes, no, notYet := policy.Yes, policy.No, policy.NoAnswer
	const before, tooOld = "89", ", and was created before the spec changed"
	for name, tc := range map[string]struct {
		spec   string
		each   []policy.Finding
		want   policy.Reason
		detail string
	}{
		"yes, of before":                       {each: []policy.Finding{of(yes, "a", before)}, want: policy.Unverified, detail: "a" + tooOld},
		"yes, of the same moment":              {each: []policy.Finding{of(yes, "a", "90")}, want: policy.Unverified, detail: "a" + tooOld},
		"yes, of after":                        {each: []policy.Finding{of(yes, "a", "91")}},
		"no, of before":                        {each: []policy.Finding{of(no, "a", before)}, want: policy.Unverified, detail: "a" + tooOld},
		"no, of after":                         {each: []policy.Finding{of(no, "a", "91")}, want: policy.Unverified, detail: "a"},
		"no, of before, and yes, of after":     {each: []policy.Finding{of(no, "a", before), of(yes, "b", "91")}},
		"yes, of before, and nothing since":    {each: []policy.Finding{of(yes, "a", before), of(notYet, "b", "91")}, want: policy.Unverified, detail: "b"},
		"yes, of before, and no, of after":     {each: []policy.Finding{of(yes, "a", before), of(no, "b", "91")}, want: policy.Unverified, detail: "b"},
		"two of before":                        {each: []policy.Finding{of(yes, "a", before), of(yes, "b", before)}, want: policy.Unverified, detail: "a" + tooOld},
		"one of before that never ends":        {each: []policy.Finding{of(notYet, "a", before), of(yes, "b", "91")}},
		"there is none":                        {each: []policy.Finding{{Detail: "there is none"}}, want: policy.Unverified, detail: "there is none"},
		"it deploys the spec that it runs":     {spec: "ran:a", each: []policy.Finding{of(yes, "a", before)}},
		"it runs that, and one says no":        {spec: "ran:a", each: []policy.Finding{of(yes, "a", before), of(no, "b", before)}, want: policy.Unverified, detail: "b"},
		"nobody knows when, and it is changed": {each: []policy.Finding{{Answer: yes, Detail: "a"}}, want: policy.Unverified, detail: "a" + tooOld},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := scenario("1:dev,synced:100,ended:100,ran:a > 2:prod,auto,pinned,ran:a," + cmp.Or(tc.spec, "respecified"))
			in.History.ContentSince, in.Now = second("90"), second("200")
			in.Settings.Conditions.Verify.Of = []policy.Verification{{Step: 1, Object: smoke}}
			in.Evidence = func(policy.Verification, string) policy.Finding { return policy.Together(tc.each) }
			d := policy.Evaluate(in)
			if tc.want == "" {
				g.Expect(d.Outcome).To(Equal(policy.Allow), string(d.Reason))
				return
			}
			g.Expect(d.Reason).To(Equal(tc.want))
			g.Expect(d.Detail).To(Equal(smoke + ": " + tc.detail))
		})
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
	g.Expect(policy.Verified(in, d).Reason).To(Equal(policy.Unverified))
	in.Evidence = nil
	g.Expect(policy.Verified(in, d).Reason).To(Equal(policy.Unverified), "nobody has looked")
	in.Settings.Conditions.Verify.Of = nil
	g.Expect(policy.Verified(in, d)).To(Equal(d))
	free := policy.Decision{Outcome: policy.NotGated, Reason: policy.Bypassed, Step: 1}
	g.Expect(policy.Verified(later, free)).To(Equal(free))
}
