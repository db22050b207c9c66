// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/test/script"
)

// sampled is one case: the call, and how long it took each time.
type sampled struct {
	name     string
	siblings int
	// samples is how often it is done, at most once in a round.
	samples int
	// heavy leaves much garbage in this process.
	heavy bool
	run   func(context.Context) error
	took  []time.Duration
}

// interleave runs all cases in rounds, each round in another order, so that other work of the machine, and the effects
// of the cases on each other, hit all of them alike.
func interleave(ctx context.Context, rounds int, cases []*sampled) error {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		if err := c.run(ctx); err != nil { // to warm up
			return fmt.Errorf("%d siblings: %s: %w", c.siblings, c.name, err)
		}
	}
	for round := range rounds {
		for _, i := range random.Perm(len(cases)) {
			c := cases[i]
			if len(c.took) >= (round+1)*c.samples/rounds {
				continue
			}
			start := time.Now()
			if err := c.run(ctx); err != nil {
				return fmt.Errorf("%d siblings: %s: %w", c.siblings, c.name, err)
			}
			c.took = append(c.took, time.Since(start))
			if c.heavy {
				runtime.GC()
			}
		}
	}
	return nil
}

// quantile is the p-th quantile by nearest rank; the largest where there are few.
func quantile(took []time.Duration, p float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(int(float64(len(sorted))*p), len(sorted)-1)]
}

// cost is the cost of one decision.
type cost struct {
	reads, bytes float64
	cpu          time.Duration
}

// block runs one case some times in a row and returns its cost for the API server. reads counts the reads so far.
func (s *suite) block(
	ctx context.Context, times int, reads func(context.Context) float64, run func(context.Context) error,
) cost {
	script.Must(run(ctx)) // to warm up
	readsBefore, bytesBefore := reads(ctx), s.meter.Bytes()
	used := script.Get(process.CPUTime(s.server))
	for range times {
		script.Must(run(ctx))
	}
	n := float64(times)
	return cost{
		reads: (reads(ctx) - readsBefore) / n,
		bytes: float64(s.meter.Bytes()-bytesBefore) / n,
		cpu:   (script.Get(process.CPUTime(s.server)) - used) / time.Duration(times),
	}
}
