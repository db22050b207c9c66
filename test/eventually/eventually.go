// SPDX-License-Identifier: Apache-2.0

// Package eventually polls where there is no testing.T: it is gomega's Eventually, with an error instead of a failed
// test.
package eventually

import (
	"context"
	"fmt"
	"time"

	"github.com/onsi/gomega"
)

// Within is how long Succeeds waits by default: processes start while others compete for the processors.
const Within = time.Minute

// Succeeds polls check until it returns nil, for a minute at most. When it gives up, its error wraps the last error of
// check. A check that returns gomega.StopTrying ends the polling at once.
func Succeeds(ctx context.Context, check func() error) error {
	return SucceedsWithin(ctx, Within, check)
}

// SucceedsWithin is Succeeds with another limit.
func SucceedsWithin(ctx context.Context, limit time.Duration, check func() error) error {
	var last error
	g := gomega.NewGomega(func(string, ...int) {})
	done := g.Eventually(func() error { last = check(); return last }).
		WithContext(ctx).WithTimeout(limit).WithPolling(50 * time.Millisecond).Should(gomega.Succeed())
	switch {
	case done:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", context.Cause(ctx), last)
	}
	return fmt.Errorf("gave up after %s: %w", limit, last)
}
