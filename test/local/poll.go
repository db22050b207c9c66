package local

import (
	"context"
	"fmt"
	"time"
)

// Poll waits until check has no problem any more, for a minute at most. Its error says why it gave up, and wraps the
// last problem.
func Poll(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		problem := check()
		if problem == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), problem)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
