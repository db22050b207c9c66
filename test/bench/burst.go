// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// concurrent is how many decisions are asked for at once, and bursts how often.
	concurrent, bursts = 100, 10
)

// burst is part 2: concurrent allows share their reads.
func burst(ctx context.Context, s *suite) []goal {
	r := s.rollout(ctx, s.options.burst)
	progress("%d concurrent allows at %d siblings, %d times", concurrent, r.siblings, bursts)
	p := newPoster(s.gate.Webhook)
	script.Must(eventually.Succeeds(ctx, func() error { return p.post(ctx, r, allow) }))
	s.together(ctx, p, r) // opens the connections
	var took []time.Duration
	var lists []float64
	for range bursts {
		n, wall := s.together(ctx, p, r)
		took, lists = append(took, wall), append(lists, n)
	}
	s.out.Line("\n%d concurrent allows at %d siblings, %d times: %v metadata LISTs at most, wall time p50 %s, at most %s",
		concurrent, r.siblings, bursts, slices.Max(lists), ms(quantile(took, 0.5)), ms(slices.Max(took)))
	return []goal{
		{what: "metadata LISTs for 100 concurrent allows, the worst of 10 bursts", measured: slices.Max(lists), most: 10},
	}
}

// together asks for all decisions at once, and returns how many metadata LISTs and how much time they needed.
func (s *suite) together(ctx context.Context, p *poster, r *rollout) (lists float64, wall time.Duration) {
	read := func() float64 {
		return script.Get(s.gate.Metric(ctx, "stepgate_live_reads_total", "kind", "application_metadata_list"))
	}
	before, start := read(), time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	for range concurrent {
		group.Go(func() error { return p.post(groupCtx, r, allow) })
	}
	script.Must(group.Wait())
	wall = time.Since(start)
	return read() - before, wall
}
