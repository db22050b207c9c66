// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// The next rollout's clocks write times of the same Applications.
func TestClocksAreThoseOfTheRollout(t *testing.T) {
	r := &recorder{
		clocks: map[string][]clockReading{"on/x-dev": {{after(1), -time.Second}, {after(2), 0}, {after(3), 3 * time.Second}}},
	}
	NewWithT(t).Expect(r.clock("on", "x-dev", after(2))).To(Equal([]time.Duration{-time.Second, 0}))
}
