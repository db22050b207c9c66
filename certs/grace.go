// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"sync"
	"time"
)

// graceDuration is for how long a replica that was ready stays ready although the bundle does not verify its
// certificate.
const graceDuration = 10 * time.Second

// gracePeriod tolerates a wrong bundle for a moment. A bundle that somebody wipes is wrong for every replica alike, and
// is restored within a second. If all replicas became unready at once, the Service would have none until they are
// probed again. A replica that was never ready gets no grace.
type gracePeriod struct {
	mu    sync.Mutex
	ready bool
	since time.Time // when the bundle was first seen to be wrong; zero: it is right
}

// tolerate returns the problem, or nil during the grace period.
func (p *gracePeriod) tolerate(problem error, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case problem == nil:
		p.ready, p.since = true, time.Time{}
		return nil
	case !p.ready:
		return problem
	case p.since.IsZero():
		p.since = now
	}
	if now.Sub(p.since) < graceDuration {
		return nil
	}
	p.ready = false
	return problem
}
