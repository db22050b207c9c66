// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/audit"
)

// Where nothing else can explain the records, every pair of Applications is judged by its four times alone. The judge
// looks at no more pairs than it has to; this test looks at all.
func TestAllPairs(t *testing.T) {
	envs := []string{"dev", "qa", "prod"}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var lines []string
		for i := range 2 + random.IntN(10) {
			started := 100 + random.IntN(60)
			lines = append(lines, fmt.Sprintf("app-%d %s a@0-1 b@%d-%d", i, envs[random.IntN(3)], started,
				started+random.IntN(40)))
		}
		r := rollout(audited(t, lines...), "b")
		want, wantVerdict := map[string]int{}, audit.OneStep
		rank := func(v audit.Verdict) int {
			return map[audit.Verdict]int{audit.OneStep: 0, audit.InOrder: 1, audit.Unclear: 2, audit.OutOfOrder: 3}[v]
		}
		for _, late := range r.Syncs {
			for _, early := range r.Syncs {
				if early.Step >= late.Step {
					continue
				}
				v := naive(late, early)
				if v == audit.OutOfOrder {
					want[late.Application]++
				}
				if rank(v) > rank(wantVerdict) {
					wantVerdict = v
				}
			}
		}
		got := map[string]int{}
		for _, e := range r.Early {
			got[e.Application] = e.BeforeCount
		}
		g := NewWithT(t)
		g.Expect(got).To(Equal(want), "seed %d: %v", seed, lines)
		g.Expect(r.Verdict).To(Equal(wantVerdict), "seed %d: %v", seed, lines)
	}
}

func naive(late, early audit.Sync) audit.Verdict {
	switch {
	case late.StartedAt.After(early.FinishedAt.Time):
		return audit.InOrder
	case late.StartedAt.Equal(early.FinishedAt):
		return audit.Unclear
	case late.FinishedAt.Before(early.FinishedAt), !early.StartedAt.After(late.StartedAt.Time):
		return audit.OutOfOrder
	}
	return audit.Unclear
}
