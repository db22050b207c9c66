package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stepgate/stepgate/test/eventually"
)

const (
	// concurrent is how many decisions are asked for at once, at how many siblings, and how often.
	concurrent, burstSiblings, bursts = 100, 1000, 10
)

// burst is part 2: concurrent allows share their reads.
func burst(ctx context.Context, s *stand, _ options) ([]goal, error) {
	r, err := s.rollout(ctx, burstSiblings)
	if err != nil {
		return nil, err
	}
	progress("%d concurrent allows at %d siblings, %d times", concurrent, r.siblings, bursts)
	p := newPoster(s.gate.Webhook)
	if err := eventually.Succeeds(ctx, func() error { return p.post(ctx, r, allow) }); err != nil {
		return nil, err
	}
	var took []time.Duration
	var lists []float64
	for i := range bursts + 1 {
		n, wall, err := s.together(ctx, p, r)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first opens the connections
			took, lists = append(took, wall), append(lists, n)
		}
	}
	fmt.Printf("\n%d concurrent allows at %d siblings, %d times: %v metadata LISTs at most, wall time p50 %s, at most %s\n",
		concurrent, r.siblings, bursts, slices.Max(lists), ms(quantile(took, 0.5)), ms(slices.Max(took)))
	return []goal{{what: "metadata LISTs for 100 concurrent allows, the worst of 10 bursts", measured: slices.Max(lists), most: 10}}, nil
}

// together asks for all decisions at once, and returns how many metadata LISTs and how much time they needed.
func (s *stand) together(ctx context.Context, p *poster, r *rollout) (lists float64, wall time.Duration, err error) {
	const name, label, kind = "stepgate_live_reads_total", "kind", "application_metadata_list"
	before, err := s.gate.Metric(ctx, name, label, kind)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	group, ctx2 := errgroup.WithContext(ctx)
	for range concurrent {
		group.Go(func() error { return p.post(ctx2, r, allow) })
	}
	if err := group.Wait(); err != nil {
		return 0, 0, err
	}
	wall = time.Since(start)
	after, err := s.gate.Metric(ctx, name, label, kind)
	return after - before, wall, err
}
