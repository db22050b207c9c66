package certs

import (
	"sync"
	"time"
)

// forgiven is for how long a replica that was ready stays ready although the bundle does not verify its certificate.
const forgiven = 10 * time.Second

// patience forgives a wrong bundle for a moment. A bundle that somebody wipes is wrong for every replica alike and
// restored within a second; if all of them became unready at once, the Service would have none for as long as it takes
// to probe them again. A replica that was never ready is not forgiven anything.
type patience struct {
	mu    sync.Mutex
	ready bool
	since time.Time // when the bundle was first seen to be wrong; zero: it is right
}

// forgive returns the problem, or nil while it is forgiven.
func (p *patience) forgive(problem error, now time.Time) error {
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
	if now.Sub(p.since) < forgiven {
		return nil
	}
	p.ready = false
	return problem
}
