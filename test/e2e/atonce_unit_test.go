// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestOperationsAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		counted   atOnce
		top, over int
	}{
		"no maxUpdate":              {atOnce{most: map[int]int{0: 3, 1: 9}}, 9, 0},
		"as many as maxUpdate":      {atOnce{most: map[int]int{0: 5, 1: 5}, limits: map[int]int{0: 5, 1: 5}}, 5, 0},
		"more in one step":          {atOnce{most: map[int]int{0: 5, 1: 7}, limits: map[int]int{0: 5, 1: 5}}, 7, 2},
		"more in a step of its own": {atOnce{most: map[int]int{0: 9, 1: 4}, limits: map[int]int{1: 3}}, 9, 1},
		"nothing":                   {atOnce{}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(tc.counted.top()).To(Equal(tc.top))
			g.Expect(tc.counted.over()).To(Equal(tc.over))
		})
	}
}

func TestTheLineOfARun(t *testing.T) {
	g := NewWithT(t)
	over := func(o *outcome, n int) *outcome {
		o.atOnce = atOnce{most: map[int]int{0: 5 + n}, limits: map[int]int{0: 5}}
		return o
	}
	all := table{
		"x": {off: over(ended(off, 2, 3), 2), on: over(ended(on, 0, 4), 1)}, "y": {off: over(ended(off, 1, 5), 0), on: over(ended(on, 0, 6), 0)},
	}
	line := total([]scenario{{key: "x"}, {key: "y"}}, all).line("v9.9.9")
	g.Expect(line).To(Equal("e2e: argocd=v9.9.9 rollouts=2 off_out_of_order=3 on_out_of_order=0 on_completed=2 " +
		"on_refused=0 on_error_occurred=0 " +
		"off_over_max_update=2 on_over_max_update=1 median_off=4.0s median_on=5.0s"))
}
