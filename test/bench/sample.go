package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// sampled is one case: what is done, and how long it took each time.
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

// interleave runs all cases in rounds, each round in another order, so that what else the machine does and what the
// cases do to each other hits all of them alike.
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

// cost is what one decision costs.
type cost struct {
	reads, bytes float64
	cpu          time.Duration
}

// block does one case some times in a row and returns what that cost the API server. reads counts the reads so far.
func (s *stand) block(ctx context.Context, times int, reads func(context.Context) (float64, error), run func(context.Context) error) (cost, error) {
	if err := run(ctx); err != nil { // to warm up
		return cost{}, err
	}
	before, err := reads(ctx)
	if err != nil {
		return cost{}, err
	}
	bytes := s.meter.Bytes()
	used, err := cpuTime(s.server)
	if err != nil {
		return cost{}, err
	}
	for range times {
		if err := run(ctx); err != nil {
			return cost{}, err
		}
	}
	after, err := reads(ctx)
	if err != nil {
		return cost{}, err
	}
	bytes = s.meter.Bytes() - bytes
	usedAfter, err := cpuTime(s.server)
	n := float64(times)
	return cost{reads: (after - before) / n, bytes: float64(bytes) / n, cpu: (usedAfter - used) / time.Duration(times)}, err
}
