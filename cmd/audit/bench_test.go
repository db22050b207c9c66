// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepgate/stepgate/cmd/audit"
)

// BenchmarkReport judges one ApplicationSet with 2,000 Applications and 10 rollouts of each, in which the first step is
// always late.
func BenchmarkReport(b *testing.B) {
	c, set := &audit.Collection{}, guestbook("guestbook")
	c.AddSet(set)
	for i := range 2000 {
		env, start := []string{"dev", "qa", "prod"}[i%3], 0
		if env == "dev" {
			start = 50
		}
		var syncs strings.Builder
		for r := range 10 {
			fmt.Fprintf(&syncs, " %c@%d-%d", 'a'+rune(r), 1000*r+start+i%7, 1000*r+start+10+i%11)
		}
		c.AddApplication(application(set, fmt.Sprintf("guestbook-%s-%04d %s%s", env, i, env, syncs.String())))
	}
	for b.Loop() {
		c.Report(audit.Options{Now: epoch})
	}
}
