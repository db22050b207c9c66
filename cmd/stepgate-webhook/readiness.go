package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/webhook/server"
)

const reachTimeout = 2 * time.Second

// readiness says whether an API server's call would be answered with a decision.
type readiness struct {
	server    *server.Server
	source    certs.Source
	known     interface{ Synced() bool }
	discovery rest.Interface
}

func (r *readiness) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, req *http.Request) {
		if err := r.check(req.Context()); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	return mux
}

// check returns why this replica should get no calls; nil means that it should.
func (r *readiness) check(ctx context.Context) error {
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
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := r.discovery.Get().AbsPath("/version").Do(ctx).Error(); err != nil {
		return fmt.Errorf("the API server cannot be reached: %w", err)
	}
	return nil
}
