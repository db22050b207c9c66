// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

var (
	// fromTheRelease are addresses that exist from the first release on.
	fromTheRelease = regexp.MustCompile(`ghcr\.io/stepgate/charts|ghcr\.io/stepgate/stepgate:TAG|stepgate/releases/download`)
	// notYet are the words that say so. The releases page says it once for all.
	notYet = regexp.MustCompile(`(?i)(nothing|no\s+release)\s+(is|has\s+been)\s+published|(once\s+there\s+is|until)\s+a\s+release`)
)

// Nobody shall try an address from a page that does not exist yet.
func TestAddressesThatDoNotExistYetAreMarked(t *testing.T) {
	g, found := NewWithT(t), 0
	for page, text := range pages(g) {
		if fromTheRelease.MatchString(text) {
			found++
			g.Expect(text).To(MatchRegexp(notYet.String()), page)
		}
	}
	g.Expect(found).To(BeNumerically(">", 3))
}
