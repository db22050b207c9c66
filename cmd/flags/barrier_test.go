// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestWriteBarrierFlags(t *testing.T) {
	for args, wantError := range map[string]string{
		"--write-barrier": "",
		"--write-barrier --application-namespaces team-*": "",
		"--application-namespaces argocd":                 "",
		"--write-barrier --application-namespaces argocd": "--write-barrier: it needs one watch of all namespaces",
	} {
		t.Run(args, func(t *testing.T) {
			g := NewWithT(t)
			o := parsed(t, args)
			if err := o.Validate(); wantError == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(wantError)))
			}
		})
	}
}
