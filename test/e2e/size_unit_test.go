// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/report"
)

func TestOrdersOfAFleet(t *testing.T) {
	f := &fleet{rollout: &rollout{}, shape: shape{steps: []int{2, 1}}}
	f.members = []*member{{name: "s-z-001", step: 0}, {name: "s-z-002", step: 0}, {name: "s-y-001", step: 1}}
	for order, want := range map[string][]string{
		inNameOrder: {"s-y-001", "s-z-001", "s-z-002"},
		lastFirst:   {"s-y-001", "s-z-001", "s-z-002"},
		stepByStep:  {"s-z-001", "s-z-002", "s-y-001"},
	} {
		t.Run(order, func(t *testing.T) {
			var got []string
			for _, m := range f.inOrderOf(order) {
				got = append(got, m.name)
			}
			NewWithT(t).Expect(got).To(Equal(want))
		})
	}
}

func TestSlowerWithTheGate(t *testing.T) {
	for name, tc := range map[string]struct {
		off, on time.Duration
		slow    bool
	}{
		"as fast":                               {off: 100 * time.Second, on: 100 * time.Second},
		"a tenth slower":                        {off: 100 * time.Second, on: 109 * time.Second},
		"more":                                  {off: 100 * time.Second, on: 111 * time.Second, slow: true},
		"more, of a rollout that takes no time": {off: 5 * time.Second, on: 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			all := &sizeTotals{out: report.To(io.Discard)}
			for m, took := range map[mode]time.Duration{off: tc.off, on: tc.on} {
				all.rollouts = append(all.rollouts, sizeResult{"one", inNameOrder, m, &fleetOutcome{took: took}})
			}
			NewWithT(t).Expect(all.isSlow(shape{key: "one"}, inNameOrder)).To(Equal(tc.slow))
		})
	}
}

// TestRefusalsOfAFleet tells refusals between the two webhooks from others: a few are chance, many are a difference of
// the webhooks.
func TestRefusalsOfAFleet(t *testing.T) {
	for name, tc := range map[string]struct {
		starts, refused, overtaken, want int
	}{
		"none":                       {starts: 300},
		"refused":                    {starts: 300, refused: 1, want: 1},
		"overtaken":                  {starts: 300, overtaken: 3},
		"overtaken too often":        {starts: 300, overtaken: 4, want: 1},
		"overtaken, of few":          {starts: 12, overtaken: 1},
		"overtaken too often of few": {starts: 12, overtaken: 2, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			all := &sizeTotals{out: report.To(io.Discard)}
			all.add(shape{key: "one"}, inNameOrder, on, &fleetOutcome{
				starts: tc.starts, writes: fleetWrites{refused: tc.refused, overtaken: tc.overtaken},
			})
			all.judge(shape{key: "one"})
			NewWithT(t).Expect(all.problems).To(HaveLen(tc.want))
		})
	}
}
