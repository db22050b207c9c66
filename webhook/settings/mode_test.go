// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

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
