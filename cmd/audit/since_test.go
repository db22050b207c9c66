// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/audit"
)

func TestParseSince(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"7d": 7 * day, "2w": 14 * day, "1w2d": 9 * day, "1d12h": 36 * time.Hour, "24h": day, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute,
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			got, err := audit.ParseSince(text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(want))
		})
	}
	for _, text := range []string{"", "7", "d", "0d", "-1h", "7d-1h2", "1d-48h", "2d1w", "yesterday", "1.5d",
		"999999999999999999d", "4000d", "99999w"} {
		t.Run("not "+text, func(t *testing.T) {
			_, err := audit.ParseSince(text)
			NewWithT(t).Expect(err).To(HaveOccurred())
		})
	}
}

// A rollout counts if it began since then, to the second.
func TestSince(t *testing.T) {
	sets := map[string][]string{"guestbook": {"app-dev dev a@0-1 b@100-110"}}
	for since, want := range map[time.Duration]int{0: 2, 24 * time.Hour: 2, 24*time.Hour - 100*time.Second: 1,
		24*time.Hour - 101*time.Second: 0} {
		NewWithT(t).Expect(report(sets, audit.Options{Since: since}).Totals.Rollouts).To(Equal(want), since.String())
	}
}
