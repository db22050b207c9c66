// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	reachTimeout = 2 * time.Second
	// reachedFor is how long an answer of the API server counts. Probes come less often.
	reachedFor = time.Second
)

// ProbesMux answers probes. ready returns why this replica should get no calls.
func ProbesMux(ready func() error) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	return mux
}

// Listed returns an error until the first lists of the watches are complete.
func Listed(known interface{ Synced() bool }) error {
	if known.Synced() {
		return nil
	}
	return errors.New(
		"the Applications and ApplicationSets have not been listed yet: if this lasts, see that Argo CD's CRDs are " +
			"installed and that stepgate's service account may list and watch them",
	)
}

// Reached says whether the API server answers: it is asked once for all who want to know that within a second, so that
// nobody who reaches the port has stepgate flood it.
type Reached struct {
	discovery rest.Interface
	clock     clock.PassiveClock

	mu    sync.Mutex
	until time.Time
	last  error
}

// NewReached returns a Reached that asks with a client.
func NewReached(discovery rest.Interface, clock clock.PassiveClock) *Reached {
	return &Reached{discovery: discovery, clock: clock}
}

// Check returns why the API server cannot be reached. Those who ask meanwhile wait for the same answer.
func (r *Reached) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clock.Now().Before(r.until) {
		return r.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
	defer cancel()
	r.last = r.discovery.Get().AbsPath("/version").Do(ctx).Error()
	if r.last != nil {
		r.last = fmt.Errorf("the API server cannot be reached: %w", r.last)
	}
	r.until = r.clock.Now().Add(reachedFor)
	return r.last
}
