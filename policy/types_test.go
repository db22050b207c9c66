// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"math"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

func TestTheZeroDecisionDenies(t *testing.T) {
	g := NewWithT(t)
	var d policy.Decision
	g.Expect(d.Outcome).To(Equal(policy.Deny))
	g.Expect(d.Outcome.String()).To(Equal("deny"))
	g.Expect(d.Message()).To(Equal("deny ()"))
	g.Expect(policy.Outcome(math.MaxInt).String()).To(Equal("deny"), "what is not known admits nothing")
}

func TestParseRequire(t *testing.T) {
	for text, want := range map[string]struct {
		wantRequire policy.Require
		wantError   string
	}{
		"health":   {wantRequire: policy.RequireHealth},
		"revision": {wantRequire: policy.RequireRevision},
		"":         {wantError: `"" is not one of health, completed, revision`},
		"synced":   {wantError: `"synced" is not one of health, completed, revision`},
		"Health":   {wantError: `"Health" is not one of health, completed, revision`},
		"a\nb":     {wantError: `"a\nb" is not one of health, completed, revision`},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			parsed, err := policy.ParseRequire(text)
			// A typing error must not make the gate less strict: it is then the zero value, RequireRevision.
			g.Expect(parsed).To(Equal(want.wantRequire))
			if want.wantError != "" {
				g.Expect(err).To(MatchError(want.wantError))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parsed.String()).To(Equal(text))
		})
	}
}
