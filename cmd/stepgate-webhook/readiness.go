package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/webhook/server"
)

const (
	reachTimeout = 2 * time.Second
	// reachedFor is how long an answer of the API server counts. Probes come less often.
	reachedFor = time.Second
)

// readiness says whether an API server's call would be answered with a decision.
type readiness struct {
	server *server.Server
	source certs.Source
	known  interface{ Synced() bool }
	api    *reached
}

func (r *readiness) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := r.check(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	return mux
}

// check returns why this replica should get no calls; nil means that it should.
func (r *readiness) check() error {
	if r.server.Draining() {
		return errors.New("shutting down")
	}
	if err := r.source.Ready(); err != nil {
		return err
	}
	if !r.known.Synced() {
		return errors.New(
			"the Applications and ApplicationSets have not been listed yet: if this lasts, see that Argo CD's CRDs are " +
				"installed and that stepgate's service account may list and watch them",
		)
	}
	return r.api.check()
}

// reached says whether the API server answers: it is asked once for all who want to know that within a second, so that
// nobody who reaches the port has stepgate flood it.
type reached struct {
	discovery rest.Interface
	clock     clock.PassiveClock

	mu    sync.Mutex
	until time.Time
	last  error
}

// check returns why the API server cannot be reached. Those who ask meanwhile wait for the same answer.
func (r *reached) check() error {
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
