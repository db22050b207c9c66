// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		namespaces  Namespaces
		wantWatched []string
		gated       []string
		ungated     []string
	}{
		"none means all":       {nil, []string{""}, []string{"argocd", "team-a"}, nil},
		"names":                {Namespaces{"argocd", "team-a"}, []string{"argocd", "team-a"}, []string{"argocd", "team-a"}, []string{"team-b", "team-a-b"}},
		"a glob":               {Namespaces{"argocd", "team-*"}, []string{""}, []string{"argocd", "team-a", "team-a-b"}, []string{"teams", "my-team-a"}},
		"a question mark":      {Namespaces{"team-?"}, []string{""}, []string{"team-a"}, []string{"team-ab"}},
		"characters":           {Namespaces{"team-[ab]"}, []string{""}, []string{"team-a"}, []string{"team-c"}},
		"a regular expression": {Namespaces{"/^team-[a-z]+$/"}, []string{""}, []string{"team-a"}, []string{"team-1", "argocd"}},
		"an unanchored one":    {Namespaces{"/team/"}, []string{""}, []string{"team", "my-team-a"}, []string{"argocd"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(tc.namespaces.validate()).To(Succeed())
			g.Expect(tc.namespaces.Watched()).To(Equal(tc.wantWatched))
			for _, n := range tc.gated {
				g.Expect(tc.namespaces.Gated(n)).To(BeTrue(), n)
			}
			for _, n := range tc.ungated {
				g.Expect(tc.namespaces.Gated(n)).To(BeFalse(), n)
			}
		})
	}
}
