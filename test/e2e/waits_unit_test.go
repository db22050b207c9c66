// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/e2e/observer"
)

func TestWaits(t *testing.T) {
	g := NewWithT(t)
	start := func(name string, step, change int, open, at float64) observer.Start {
		s := observer.Start{Application: name, Step: step, Change: change, At: after(at)}
		if open > 0 {
			s.Open = after(open)
		}
		return s
	}
	late := start("prod", 2, 2, 2, 9)
	late.Behind = []string{"qa"}
	o := ended(on, 0, 3)
	o.starts = []observer.Start{
		start("dev", 0, 1, 1, 2), start("qa", 1, 1, 3, 5), start("qa", 1, 1, 3, 6), start("qa", 1, 2, 7, 8),
		start("prod", 2, 1, 0, 8), late,
	}
	g.Expect(o.waits()).To(Equal([]time.Duration{2 * time.Second, time.Second}))
	o.rollout.scenario.manual = true
	g.Expect(o.waits()).To(BeEmpty())
}

func TestPercentile(t *testing.T) {
	g := NewWithT(t)
	var all []time.Duration
	for i := range 200 {
		all = append(all, time.Duration(200-i))
	}
	g.Expect([]time.Duration{
		percentile(all, 50), percentile(all, 99), percentile(all, 100),
	}).To(Equal([]time.Duration{100, 198, 200}))
	g.Expect(percentile([]time.Duration{7}, 50)).To(Equal(time.Duration(7)))
	g.Expect(percentile(nil, 99)).To(BeZero())
}
