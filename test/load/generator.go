package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stepgate/stepgate/test/cluster"
)

// Load sends operation writes in bursts: as many at once as there are rollouts. An API server keeps 25 idle connections
// to a webhook, so a larger burst opens new ones, and each of these is a TLS handshake with the certificate of the moment.
type Load struct {
	rollouts []*Rollout
	period   time.Duration
}

// LoadOptions are the size of a Load.
type LoadOptions struct {
	// Name is what the namespaces of its rollouts begin with.
	Name     string
	Rollouts int
	// Rate is in operation writes a second.
	Rate float64
}

// NewLoad creates the rollouts, each in a namespace of its own.
func (w *Writer) NewLoad(ctx context.Context, c *cluster.Cluster, o LoadOptions) (*Load, error) {
	l := &Load{period: time.Duration(float64(o.Rollouts) / o.Rate * float64(time.Second))}
	for i := range o.Rollouts {
		r, err := w.NewRollout(ctx, c, fmt.Sprintf("%s-%d", o.Name, i))
		if err != nil {
			return nil, fmt.Errorf("rollout %d: %w", i, err)
		}
		r.turn = i % 8
		r.degraded = r.turn > 0 && r.turn < 4 // put right by the first status write
		l.rollouts = append(l.rollouts, r)
	}
	return l, l.align(ctx)
}

// align brings every rollout to the state that its first turn expects.
func (l *Load) align(ctx context.Context) error {
	for _, r := range l.rollouts {
		if r.SetDegraded(ctx, r.degraded) != Right {
			return fmt.Errorf("rollout %s could not be prepared", r.Prod.Namespace)
		}
	}
	return nil
}

// Rollouts are what it writes to.
func (l *Load) Rollouts() []*Rollout { return l.rollouts }

// Burst sends so many operation writes of every rollout, all rollouts at once.
func (l *Load) Burst(ctx context.Context, writes int) {
	var group sync.WaitGroup
	for _, r := range l.rollouts {
		group.Go(func() {
			for range writes {
				r.Next(ctx)
			}
		})
	}
	group.Wait()
}

// Run sends until ctx is done, and returns when every answer has come. A write that takes longer than the period
// delays its own rollout's next, and no other.
func (l *Load) Run(ctx context.Context) {
	var group sync.WaitGroup
	starts := make([]chan struct{}, len(l.rollouts))
	for i, r := range l.rollouts {
		starts[i] = make(chan struct{}, 1)
		group.Go(func() {
			for range starts[i] {
				r.Next(context.WithoutCancel(ctx))
			}
		})
	}
	ticker := time.NewTicker(l.period)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, start := range starts {
			select {
			case start <- struct{}{}:
			default: // it is still at the one before
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
