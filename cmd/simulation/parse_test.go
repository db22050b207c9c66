// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestParseRefuses has every mistake named.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "needs an app",
		"argocd 3.5 colour=red":        "no such option: colour",
		"app dev one":                  "invalid syntax",
		"app dev 1 skew=soon":          "invalid duration",
		"app dev 1\n+soon refresh":     "line 2",
		"app dev 1\nrefresh dev":       "not understood",
		"argocd 3.5 poll=often":        "invalid duration",
		"argocd 3.5 replicas=1 poll":   "invalid duration",
		"app dev 1\nstep wave=low":     "invalid syntax",
		"app dev 1\nstep colour=red":   "no such option: colour",
		"app dev 1\nstep wave=1\nstep": "either all steps have a wave, or none",
	} {
		_, err := Parse(text)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)), text)
	}
}
