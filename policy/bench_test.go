// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stepgate/stepgate/policy"
)

// BenchmarkEvaluate is the rule alone, on siblings of three equal steps that are all done, so that every one of the
// earlier steps is judged to the end.
func BenchmarkEvaluate(b *testing.B) {
	for _, siblings := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("siblings=%d", siblings), func(b *testing.B) { benchmarkEvaluate(b, siblings) })
	}
}

func benchmarkEvaluate(b *testing.B, siblings int) {
	in := scenario("> 3:target,synced:90,ended:90,ran:b+a")
	for i := range siblings {
		word := fmt.Sprintf("%d:app-%05d,synced:90,ended:90,ran:b+a", i*3/siblings+1, i)
		in.Siblings = append(in.Siblings, in.ApplicationSet.Sibling(&parse(word).sibling))
	}
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if d := policy.Evaluate(in); d.Outcome != policy.Allow || d.Reason != policy.EarlierStepsDone {
			b.Fatalf("want an allow because the earlier steps are done, got %v (%v)", d.Outcome, d.Reason)
		}
	}
	runtime.ReadMemStats(&after)
	evaluated := float64(b.N) * float64(siblings)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/evaluated, "bytes/sibling")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/evaluated, "allocs/sibling")
}
