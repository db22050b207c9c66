// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestGracePeriod runs probes, one per word: whether the bundle is right or wrong, after how long, and whether the
// replica is ready.
func TestGracePeriod(t *testing.T) {
	for name, scenario := range map[string]string{
		"a replica that was never ready gets no grace":           "wrong+0s=unready wrong+1s=unready right+1s=ready",
		"a wiped bundle is tolerated until it is restored":       "right+0s=ready wrong+1s=ready wrong+9s=ready right+1s=ready",
		"a bundle that stays wrong is not":                       "right+0s=ready wrong+1h=ready wrong+9999ms=ready wrong+1ms=unready wrong+1s=unready",
		"with probes far apart the first wrong one is tolerated": "right+0s=ready wrong+30s=ready wrong+30s=unready",
		"each time again": "right+0s=ready wrong+1s=ready right+9s=ready wrong+8s=ready wrong+9s=ready right+1s=ready",
		"after the grace period it has to be right to be ready": "right+0s=ready wrong+1s=ready wrong+10s=unready wrong+1s=unready right+1s=ready wrong+1s=ready",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, now := &gracePeriod{}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			for _, word := range strings.Fields(scenario) {
				bundle, rest, _ := strings.Cut(word, "+")
				after, want, _ := strings.Cut(rest, "=")
				d, err := time.ParseDuration(after)
				g.Expect(err).NotTo(HaveOccurred())
				now = now.Add(d)
				var problem error
				if bundle == "wrong" {
					problem = errors.New("wrong")
				}
				got := "ready"
				if p.tolerate(problem, now) != nil {
					got = "unready"
				}
				g.Expect(got).To(Equal(want), word)
			}
		})
	}
}
