// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// TestSourcesOfOneRepositoryAreToldApart lets Applications have two sources of one repository and branch, such as a chart
// and its values.
func TestSourcesOfOneRepositoryAreToldApart(t *testing.T) {
	for name, row := range map[string]struct {
		scenario string
		train    bool
		want     policy.Outcome
	}{
		"one at a commit that dev never had, by hand": {
			"1:dev@common:a+common:a > 2:prod@common:a+common:a,wants:common:a+common:x,pinned", false, policy.Deny,
		},
		"the same by auto-sync": {
			"1:dev@common:a+common:a > 2:prod@common:a+common:x,auto,pinned", false, policy.Deny,
		},
		"the same of a train": {
			"1:dev@common:a+common:a,ran:common:a > 2:prod@common:a+common:a,wants:common:a+common:x,pinned", true, policy.Deny,
		},
		"the two exchanged": {
			"1:dev@common:a+common:b > 2:prod@common:b+common:a,auto,pinned", false, policy.Deny,
		},
		"dev was compared with a mix of two commits (argo-cd 29716)": {
			"1:dev@common:a+common:b > 2:prod@common:b+common:b,auto,pinned", false, policy.Deny,
		},
		"prod was compared with a mix of two commits": {
			"1:dev@common:b+common:b > 2:prod@common:a+common:b,auto,pinned", false, policy.Deny,
		},
		"prod was compared with a commit long past": {
			"1:dev@common:b+common:b,fresh > 2:prod@common:x+common:x,auto,pinned,ran:common:b", false, policy.Deny,
		},
		"both as in dev":      {"1:dev@common:a+common:b > 2:prod@common:a+common:b,auto,pinned", false, policy.Allow},
		"dev has one of them": {"1:dev@common:a > 2:prod@common:a+common:a,auto,pinned", false, policy.Allow},
		"dev has one of them, and not the other": {
			"1:dev@common:a > 2:prod@common:a+common:x,auto,pinned", false, policy.Deny,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := scenario(row.scenario)
			in.Settings.Candidates = row.train
			g.Expect(policy.Evaluate(in).Outcome).To(Equal(row.want))
		})
	}
}
