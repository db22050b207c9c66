package webhook

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// ofMode is a verdict in a mode.
func ofMode(mode Mode, outcome policy.Outcome, err error) verdict {
	return verdict{Decision: policy.Decision{Outcome: outcome, Step: -1}, settings: settings{mode: mode}, err: err}
}

// A write that moves an Application between ApplicationSets is judged by both. What rejects wins over what does not,
// then a missing decision, then the outcome.
func TestStricterThan(t *testing.T) {
	fromStrict := []verdict{
		ofMode(Enforce, policy.Deny, errRead),
		ofMode(Enforce, policy.Deny, nil),
		ofMode(Audit, policy.Deny, errRead),
		ofMode(Audit, policy.Deny, nil),
		ofMode(Enforce, policy.Allow, nil),
		ofMode(Off, policy.NotGated, nil),
	}
	for i, a := range fromStrict {
		for j, b := range fromStrict {
			t.Run(fmt.Sprint(i, " against ", j), func(t *testing.T) {
				NewWithT(t).Expect(a.stricterThan(b)).To(Equal(i < j))
			})
		}
	}
}

// Every way to be answered, and no other, admits a write.
func TestResponseAdmits(t *testing.T) {
	for name, tc := range map[string]struct {
		verdict     verdict
		wantAllowed bool
		wantCode    int32
	}{
		"the zero verdict":        {verdict{}, false, 403},
		"a denial":                {ofMode(Enforce, policy.Deny, nil), false, 403},
		"an allow":                {ofMode(Enforce, policy.Allow, nil), true, 0},
		"a not gated":             {ofMode(Enforce, policy.NotGated, nil), true, 0},
		"an error":                {ofMode(Enforce, policy.Deny, errRead), false, 503},
		"an error beside allow":   {ofMode(Enforce, policy.Allow, errRead), false, 503},
		"an error beside no gate": {ofMode(Enforce, policy.NotGated, errRead), false, 503},
		"an unknown mode":         {ofMode(Mode(7), policy.Deny, nil), false, 403},
		"a denial, audited":       {ofMode(Audit, policy.Deny, nil), true, 0},
		"an allow, audited":       {ofMode(Audit, policy.Allow, nil), true, 0},
		"an error, audited":       {ofMode(Audit, policy.Deny, errRead), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			resp := tc.verdict.response()
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
	v := ofMode(Enforce, policy.Deny, nil)
	for i := range 1000 {
		v.Blockers = append(v.Blockers, policy.Blocker{Application: fmt.Sprintf("app-%03d", i), Reason: policy.NotHealthy})
	}
	resp := v.response()
	g.Expect(resp.Result.Details.Causes).To(HaveLen(20))
	g.Expect(resp.AuditAnnotations["blockers"]).To(HaveSuffix("app-019=NotHealthy,and 980 more"))
	g.Expect(len(resp.AuditAnnotations["blockers"])).To(BeNumerically("<=", 1024))
}

func TestInitiator(t *testing.T) {
	gate := newTrial(testConfig(), nil).gate
	for user, want := range map[string]string{
		appSetAccount: "applicationset", controllerUser: "controller", argocdServer: "server", "kubernetes-admin": "other", "": "other",
	} {
		NewWithT(t).Expect(gate.initiator(user)).To(Equal(want), user)
	}
}

func TestModes(t *testing.T) {
	g := NewWithT(t)
	for _, mode := range []Mode{Enforce, Audit, Off} {
		g.Expect(ParseMode(mode.String())).To(Equal(mode))
	}
	for _, text := range []string{"", "Enforce", " audit", "dryrun"} {
		mode, err := ParseMode(text)
		g.Expect(mode).To(Equal(Enforce), "the strictest")
		g.Expect(err).To(MatchError(fmt.Sprintf("%q is not one of enforce, audit, off", text)))
	}
	g.Expect(Mode(7).String()).To(Equal("enforce"))
}
