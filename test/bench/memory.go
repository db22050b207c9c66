// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/script"
)

// memory is part 3: the memory of an instance of stepgate that starts in a cluster with many Applications.
func memory(ctx context.Context, s *suite) []goal {
	r := s.rollout(ctx, s.options.burst)
	have := s.fill(ctx)
	progress("memory of a stepgate that starts with %d Applications", have)
	start := time.Now()
	gate := s.startGate(ctx, installed.Options{
		Registration: installed.Registration{Name: "stepgate-memory", Namespaces: []string{"none"}},
	})
	s.out.Line("\nstepgate with %d Applications: ready after %s", have, time.Since(start).Round(10*time.Millisecond))
	s.printMemory(ctx, gate, "when ready")
	select {
	case <-ctx.Done():
		script.Must(ctx.Err())
	case <-time.After(s.options.rest): // the figure is of an instance at rest
	}
	s.printMemory(ctx, gate, fmt.Sprintf("%.0f s later", s.options.rest.Seconds()))
	p := newPoster(gate.Webhook)
	for range 100 {
		script.Must(p.post(ctx, r, allow))
	}
	s.printMemory(ctx, gate, "after 100 decisions")
	what := fmt.Sprintf("resident memory with %d Applications at any moment", have)
	return []goal{{what: what, measured: script.Get(gate.PeakMiB()), most: 192, unit: " MiB"}}
}

// mostSiblings is how many Applications of one ApplicationSet have their statuses in an object that etcd takes.
const mostSiblings = 5000

// fill creates the Applications that are missing in the cluster, and returns how many there are then.
func (s *suite) fill(ctx context.Context) int {
	have := 0
	for _, r := range s.rollouts {
		have += r.siblings
	}
	if s.none != nil {
		have += s.none.siblings
	}
	for missing := s.options.applications - have; missing >= 3; missing = s.options.applications - have {
		next := min(missing, mostSiblings)
		newRollout(ctx, s.Admin, fmt.Sprint("bench-memory-", have), nil, next)
		have += next
	}
	return have
}

// printMemory prints the memory of a process at a moment.
func (s *suite) printMemory(ctx context.Context, gate *installed.Replica, moment string) {
	const mib = 1 << 20
	resident, peak := script.Get(gate.ResidentMiB()), script.Get(gate.PeakMiB())
	heap := script.Get(gate.Metric(ctx, "go_memstats_heap_inuse_bytes"))
	system := script.Get(gate.Metric(ctx, "go_memstats_sys_bytes"))
	s.out.Line("  %-20s resident %6.1f MiB, at most %6.1f MiB so far, heap in use %6.1f MiB, obtained from the system "+
		"%6.1f MiB", moment, resident, peak, heap/mib, system/mib)
}
