// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// ofMode is a verdict in a mode.
func ofMode(mode settings.Mode, outcome policy.Outcome, err error) judge.Verdict {
	return judge.Verdict{
		Decision: policy.Decision{Outcome: outcome, Step: -1}, Settings: settings.Settings{Mode: mode}, Err: err,
	}
}

// Every way to be answered, and no other, admits a write.
func TestResponseAdmits(t *testing.T) {
	for name, tc := range map[string]struct {
		verdict     judge.Verdict
		wantAllowed bool
		wantCode    int32
	}{
		"the zero verdict":        {judge.Verdict{}, false, 403},
		"a denial":                {ofMode(settings.Enforce, policy.Deny, nil), false, 403},
		"an allow":                {ofMode(settings.Enforce, policy.Allow, nil), true, 0},
		"a not gated":             {ofMode(settings.Enforce, policy.NotGated, nil), true, 0},
		"an error":                {ofMode(settings.Enforce, policy.Deny, scenario.ErrRead), false, 503},
		"an error beside allow":   {ofMode(settings.Enforce, policy.Allow, scenario.ErrRead), false, 503},
		"an error beside no gate": {ofMode(settings.Enforce, policy.NotGated, scenario.ErrRead), false, 503},
		"an unknown mode":         {ofMode(settings.Mode(7), policy.Deny, nil), false, 403},
		"a denial, audited":       {ofMode(settings.Audit, policy.Deny, nil), true, 0},
		"an allow, audited":       {ofMode(settings.Audit, policy.Allow, nil), true, 0},
		"an error, audited":       {ofMode(settings.Audit, policy.Deny, scenario.ErrRead), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			resp := answer(tc.verdict)
			g.Expect(resp.Allowed).To(Equal(tc.wantAllowed))
			if tc.wantCode == 0 {
				g.Expect(resp.Result).To(BeNil())
				return
			}
			g.Expect(resp.Result.Code).To(Equal(tc.wantCode))
		})
	}
}

func TestDenialIsBounded(t *testing.T) {
	g := NewWithT(t)
	v := ofMode(settings.Enforce, policy.Deny, nil)
	for i := range 1000 {
		v.Blockers = append(v.Blockers, policy.Blocker{Application: fmt.Sprintf("app-%03d", i), Reason: policy.NotHealthy})
	}
	resp := answer(v)
	g.Expect(resp.Result.Details.Causes).To(HaveLen(20))
	g.Expect(resp.AuditAnnotations["blockers"]).To(HaveSuffix("app-019=NotHealthy,and 980 more"))
	g.Expect(len(resp.AuditAnnotations["blockers"])).To(BeNumerically("<=", 1024))
}
