// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestParser wants what ends by itself to be over at its end, and what cannot be read to be named.
func TestParser(t *testing.T) {
	g := NewWithT(t)
	set := withThreeSteps(map[string]string{
		ModeAnnotation: "Audit", BypassAnnotation: "2026-03-01T13:00:00Z INC-1",
		ExcludeAnnotation: " prod-us,prod-eu  2026-03-01T13:00:00Z INC-2\nnext ",
	})
	problems := []Problem{
		{ModeAnnotation, `not valid, the stricter reading is used: "Audit" is not one of enforce, audit, off`},
	}
	s := NewParser(Config{}, atNoon).Of(set)
	g.Expect(s.Problems).To(Equal(problems))
	g.Expect(s.ProblemTexts()).To(Equal([]string{"annotation " + ModeAnnotation + " is " + problems[0].Text}))
	g.Expect(s.Bypassed).To(BeTrue())
	g.Expect(s.Bypass).To(Equal("until 2026-03-01T13:00:00Z: INC-1"))
	g.Expect(s.Excluded).To(Equal(map[string]bool{"prod-us": true, "prod-eu": true}))
	g.Expect(s.Exclusion).To(Equal("prod-us,prod-eu until 2026-03-01T13:00:00Z: INC-2?next"))

	s = NewParser(Config{}, clocktesting.NewFakePassiveClock(atNoon.Now().Add(time.Hour))).Of(set)
	g.Expect(s.Problems).To(Equal(problems))
	g.Expect(s.Bypassed).To(BeFalse())
	g.Expect(s.Excluded).To(BeEmpty())

	g.Expect(NewParser(Config{}, atNoon).Of(nil)).To(Equal(Settings{}), "the zero value is the strictest")
}

// TestExclusion excludes nobody by a value that cannot be read, and says what to write.
func TestExclusion(t *testing.T) {
	const form = `write "NAME,NAME 2026-03-01T13:00:00Z REASON"`
	for text, want := range map[string]string{
		"dev 2026-03-01T12:00:00Z INC-1":     "",
		"dev 2026-03-01T12:00:00Z":           "",
		"":                                   `"" is not an RFC 3339 time: ` + form,
		"dev":                                `"" is not an RFC 3339 time: ` + form,
		"dev,qa INC-1":                       `"INC-1" is not an RFC 3339 time: ` + form,
		"dev, qa 2026-03-01T13:00:00Z INC-1": `"qa" is not an RFC 3339 time: ` + form,
		"2026-03-01T13:00:00Z INC-1":         `"INC-1" is not an RFC 3339 time: ` + form,
		"dev 2026-03-01T13:00:00Z\nINC-1":    `"2026-03-01T13:00:00Z\nINC-1" is not an RFC 3339 time: ` + form,
		"dev 2026-03-01 INC-1":               `"2026-03-01" is not an RFC 3339 time: ` + form,
		"dev 2026-03-01T13:00:00Z":           `it has no reason: ` + form,
		"dev 2026-03-02T12:00:01Z INC-1":     "2026-03-02T12:00:01Z is more than 24 h ahead",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			s := NewParser(Config{}, atNoon).Of(withThreeSteps(map[string]string{ExcludeAnnotation: text}))
			g.Expect(s.Excluded).To(BeEmpty())
			g.Expect(s.Exclusion).To(BeEmpty())
			if want == "" {
				g.Expect(s.Problems).To(BeEmpty())
				return
			}
			g.Expect(s.Problems).To(Equal([]Problem{{ExcludeAnnotation, "not valid, the stricter reading is used: " + want}}))
		})
	}
}

// TestRetired has each annotation that there was say what to write, and change nothing.
func TestRetired(t *testing.T) {
	for name, form := range map[string]string{
		"bypass-until": `stepgate.io/bypass="TIME REASON"`, "bypass-reason": `stepgate.io/bypass="TIME REASON"`,
		"exclude-until":  `stepgate.io/exclude="NAMES TIME REASON"`,
		"exclude-reason": `stepgate.io/exclude="NAMES TIME REASON"`,
		"pause-reason":   `stepgate.io/pause="STEPS: REASON"`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := NewParser(Config{}, atNoon).Of(withThreeSteps(map[string]string{"stepgate.io/" + name: "2026-03-01T13:00:00Z"}))
			g.Expect(s.ProblemTexts()).To(Equal([]string{
				"annotation stepgate.io/" + name + " is not read any more: write " + form,
			}))
			s.Problems = nil
			g.Expect(s).To(Equal(NewParser(Config{}, atNoon).Of(withThreeSteps(nil))))
		})
	}
}

// TestPinOfAnApplicationSet lets an ApplicationSet choose. In audit mode nobody pins, and so nothing is a candidate but
// what was compared.
func TestPinOfAnApplicationSet(t *testing.T) {
	const unreadable = `not valid, the stricter reading is used: "%s" is not one of compared, candidate`
	for name, tc := range map[string]struct {
		installed  Pin
		mode       Mode
		text       string
		candidates bool
		problem    string
	}{
		"nothing":       {installed: PinCandidate, candidates: true},
		"candidate":     {installed: PinCompared, text: "candidate", candidates: true},
		"its old name":  {installed: PinCompared, text: "qualified", candidates: true},
		"compared":      {installed: PinCandidate, text: "compared"},
		"off":           {installed: PinCandidate, text: "off", problem: fmt.Sprintf(unreadable, "off")},
		"unreadable":    {installed: PinCandidate, text: "newest", problem: fmt.Sprintf(unreadable, "newest")},
		"in audit mode": {installed: PinCandidate, mode: Audit},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			annotations := map[string]string{}
			if tc.text != "" {
				annotations[PinAnnotation] = tc.text
			}
			s := NewParser(Config{Pin: tc.installed, Mode: tc.mode}, atNoon).Of(withThreeSteps(annotations))
			g.Expect(s.Candidates).To(Equal(tc.candidates))
			if tc.problem == "" {
				g.Expect(s.Problems).To(BeEmpty())
			} else {
				g.Expect(s.Problems).To(Equal([]Problem{{PinAnnotation, tc.problem}}))
			}
		})
	}
}

// TestBypassOfASync believes only argocd-server who has started a sync, and only a listed user may bypass.
func TestBypassOfASync(t *testing.T) {
	config := Config{ServerAccounts: []string{"server"}, BypassUsers: []string{"alice"}}
	for name, tc := range map[string]struct {
		claim      Claim
		wantBypass bool
		want       string
	}{
		"nobody asks":         {claim: Claim{User: "server", InitiatedBy: "alice"}},
		"alice":               {claim: Claim{User: "server", InitiatedBy: "alice", Bypass: "INC-1"}, wantBypass: true, want: "INC-1 by alice"},
		"bob":                 {claim: Claim{User: "server", InitiatedBy: "bob", Bypass: "INC-1"}, want: `INC-1 not honoured: user "bob" may not bypass (--bypass-user)`},
		"alice, says kubectl": {claim: Claim{User: "kube", InitiatedBy: "alice", Bypass: "INC-1"}, want: "INC-1 not honoured: kube is not argocd-server"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := NewParser(config, atNoon).OfWrite(withThreeSteps(nil), tc.claim)
			g.Expect(s.Bypassed).To(Equal(tc.wantBypass))
			g.Expect(s.Bypass).To(Equal(tc.want))
			g.Expect(NewParser(config, atNoon).OfWrite(nil, tc.claim).Bypass).To(BeEmpty(), "there is nothing to bypass")
		})
	}
}
