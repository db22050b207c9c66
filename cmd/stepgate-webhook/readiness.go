// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/server"
)

// readiness says whether an API server's call would be answered with a decision.
type readiness struct {
	server *server.Server
	source certs.Source
	known  interface{ Synced() bool }
	api    *serve.Reached
}

// check returns why this replica should get no calls; nil means that it should.
func (r *readiness) check() error {
	if r.server.Draining() {
		return errors.New("shutting down")
	}
	if err := r.source.Ready(); err != nil {
		return err
	}
	if err := serve.Listed(r.known); err != nil {
		return err
	}
	return r.api.Check()
}
