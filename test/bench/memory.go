package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stepgate/stepgate/test/release"
)

// memory is part 3: what an instance of stepgate holds that starts in a cluster with many Applications.
func memory(ctx context.Context, s *stand, o options) ([]goal, error) {
	r, err := s.rollout(ctx, burstSiblings)
	if err != nil {
		return nil, err
	}
	have, err := s.fill(ctx, o.applications)
	if err != nil {
		return nil, err
	}
	progress("memory of a stepgate that starts with %d Applications", have)
	start := time.Now()
	gate, err := s.startGate(ctx, release.Options{Registration: release.Registration{Name: "stepgate-memory", Namespaces: []string{"none"}}})
	if err != nil {
		return nil, err
	}
	fmt.Printf("\nstepgate with %d Applications: ready after %s\n", have, time.Since(start).Round(10*time.Millisecond))
	most, err := printMemory(ctx, gate, "when ready")
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(10 * time.Second): // the figure is that of an instance at rest
	}
	rested, err := printMemory(ctx, gate, "10 s later")
	if err != nil {
		return nil, err
	}
	p := newPoster(gate.Webhook)
	for range 100 {
		if err := p.post(ctx, r, allow); err != nil {
			return nil, err
		}
	}
	worked, err := printMemory(ctx, gate, "after 100 decisions")
	limit := fmt.Sprintf("resident memory with %d Applications, the most of three moments", have)
	return []goal{{what: limit, measured: max(most, rested, worked), most: 200, unit: " MiB"}}, err
}

// fill creates what is missing to so many Applications in the cluster, and returns how many there are.
func (s *stand) fill(ctx context.Context, applications int) (int, error) {
	have := 0
	for _, r := range s.rollouts {
		have += r.siblings
	}
	if s.none != nil {
		have += s.none.siblings
	}
	missing := applications - have
	if missing <= 0 {
		return have, nil
	}
	_, err := newRollout(ctx, s.admin, "bench-memory", nil, missing)
	return applications, err
}

// printMemory prints what a process holds at a moment, and returns its resident memory in MiB.
func printMemory(ctx context.Context, gate *release.Replica, moment string) (float64, error) {
	resident, err := gate.ResidentMiB()
	if err != nil {
		return 0, err
	}
	heap, err := gate.Metric(ctx, "go_memstats_heap_inuse_bytes")
	if err != nil {
		return 0, err
	}
	system, err := gate.Metric(ctx, "go_memstats_sys_bytes")
	const mib = 1 << 20
	fmt.Printf("  %-20s resident %6.1f MiB, heap in use %6.1f MiB, obtained from the system %6.1f MiB\n", moment, resident, heap/mib, system/mib)
	return resident, err
}
