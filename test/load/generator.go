// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Generator sends operation writes in bursts: as many at once as there are rollouts. An API server keeps 25 idle
// connections to a webhook, so a larger burst opens new ones, and each of these is a TLS handshake with the certificate
// of the moment.
type Generator struct {
	rollouts []*Rollout
	period   time.Duration
}

// Options are the size of a Generator.
type Options struct {
	// Name is the beginning of the names of its rollouts' namespaces.
	Name string
	// Rollouts is how many writes are sent at once.
	Rollouts int
	// Rate is in operation writes a second.
	Rate float64
}

// NewGenerator creates the rollouts, each in a namespace of its own.
func (w *Writer) NewGenerator(ctx context.Context, o Options) (*Generator, error) {
	g := &Generator{period: time.Duration(float64(o.Rollouts) / o.Rate * float64(time.Second))}
	for i := range o.Rollouts {
		r, err := w.NewRollout(ctx, fmt.Sprintf("%s-%d", o.Name, i))
		if err != nil {
			return nil, fmt.Errorf("rollout %d: %w", i, err)
		}
		r.turn = i % 8
		r.degraded = r.turn > 0 && r.turn < 4 // put right by the first status write
		g.rollouts = append(g.rollouts, r)
	}
	return g, g.align(ctx)
}

// align brings every rollout to the state that its first turn expects.
func (g *Generator) align(ctx context.Context) error {
	for _, r := range g.rollouts {
		if r.SetDegraded(ctx, r.degraded) != Right {
			return fmt.Errorf("rollout %s could not be prepared", r.Prod.Namespace)
		}
	}
	return nil
}

// Rollouts are the rollouts that it writes to.
func (g *Generator) Rollouts() []*Rollout { return g.rollouts }

// Burst sends so many operation writes of every rollout, all rollouts at once.
func (g *Generator) Burst(ctx context.Context, writes int) {
	var group sync.WaitGroup
	for _, r := range g.rollouts {
		group.Go(func() {
			for range writes {
				r.Next(ctx)
			}
		})
	}
	group.Wait()
}

// During sends writes while work runs.
func (g *Generator) During(ctx context.Context, work func()) {
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { g.run(ctx) })
	defer group.Wait() // also when work ends a test
	defer stop()
	work()
}

// run sends until ctx is done, and returns when every answer has come. A write that takes longer than the period
// delays only the next write of its own rollout.
func (g *Generator) run(ctx context.Context) {
	var group sync.WaitGroup
	starts := make([]chan struct{}, len(g.rollouts))
	for i, r := range g.rollouts {
		starts[i] = make(chan struct{}, 1)
		group.Go(func() {
			for range starts[i] {
				r.Next(context.WithoutCancel(ctx))
			}
		})
	}
	ticker := time.NewTicker(g.period)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, start := range starts {
			select {
			case start <- struct{}{}:
			default: // the previous write is still under way
			}
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	for _, start := range starts {
		close(start)
	}
	group.Wait()
}
