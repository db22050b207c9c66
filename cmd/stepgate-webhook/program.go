// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/refresh"
	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/server"
	"github.com/stepgate/stepgate/webhook/slots"
)

// program is all that `stepgate-webhook serve` runs.
type program struct {
	server    *server.Server
	source    certs.Source
	known     *cluster.Cache
	recorder  *record.Recorder
	refreshes *refresh.Queue
	gathered  *record.Gathered
	requests  *release.Requests
	releases  *release.Controller
	starts    *starts
	sweeper   *slots.Sweeper // nil without --max-update
	keeping   *keeping       // nil without --ledger
	evidence  *evidence.Source
	creator   *evidence.Creator // nil without --verify-create
	endpoints []serve.Endpoint
	traces    *tracer
	// look has the Releaser look at an ApplicationSet.
	look func(set types.NamespacedName)
}

// run runs all parts until ctx is done or one of them fails. The others go on while the webhook drains, and end with
// it.
func (p *program) run(ctx context.Context) error {
	defer p.traces.stop(ctx)
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	group, running := errgroup.WithContext(running)
	group.Go(func() error {
		defer end()
		until, cancel := either(ctx, running)
		defer cancel()
		return p.server.Run(until)
	})
	group.Go(func() error { return serve.Ended(running, "certificates", p.source.Start(running)) })
	group.Go(func() error { p.recorder.Run(running); return nil })
	group.Go(func() error { p.refreshes.Run(running); return nil })
	group.Go(func() error { p.gather(running); return nil })
	group.Go(func() error { p.release(running); return nil })
	if p.sweeper != nil {
		group.Go(func() error { p.sweeper.Run(running); return nil })
	}
	group.Go(func() error { return serve.Ended(running, "watch of evidence", p.evidence.Run(running)) })
	if p.creator != nil {
		group.Go(func() error { p.creator.Run(running); return nil })
	}
	group.Go(func() error { p.watch(running); return serve.Ended(running, "watch of Applications", nil) })
	for _, e := range p.endpoints {
		group.Go(func() error { return e.Serve(running) })
	}
	return group.Wait()
}

// watch watches until ctx is done, once what was known before was read.
func (p *program) watch(ctx context.Context) {
	if p.keeping == nil {
		p.known.Run(ctx)
		return
	}
	p.keeping.read(ctx)
	var both sync.WaitGroup
	both.Go(func() { p.keeping.run(ctx) })
	p.known.Run(ctx)
	both.Wait()
}

// gather gathers what scrapes show until ctx is done, once the watches are complete.
func (p *program) gather(ctx context.Context) {
	if cache.WaitForCacheSync(ctx.Done(), p.known.Synced) {
		p.gathered.Run(ctx)
	}
}

// release releases what waits until ctx is done, once the watches are complete.
func (p *program) release(ctx context.Context) {
	if p.releases != nil && cache.WaitForCacheSync(ctx.Done(), p.known.Synced) {
		if p.starts != nil {
			go p.starts.run(ctx)
		}
		p.releases.Run(ctx)
	}
}

// lookAtAll has the Releaser look at every ApplicationSet that is gated.
func (p *program) lookAtAll() {
	for _, set := range p.known.Sets() {
		p.look(types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
	}
}

// changed has the Releaser look at an ApplicationSet, if there is one, and the ledger keep what has changed.
func (p *program) changed(set types.NamespacedName) {
	p.keeping.changed(set)
	if p.look != nil {
		p.look(set)
	}
}

// either returns a context that is done when one of the two is.
func either(a, b context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancel(a)
	stop := context.AfterFunc(b, cancel)
	return both, func() { stop(); cancel() }
}

// readerOf proves what is known by the barrier, if there is one.
func readerOf(
	o *flags.Options, live *cluster.APIServer, known *cluster.Cache, c *kube.Cluster, metrics *record.Metrics,
) *cluster.Reader {
	reader := cluster.NewReader(live, known)
	if !o.Barrier {
		return reader
	}
	barrier := cluster.NewBarrier(c.Versions, o.Installation.Barrier(), known, metrics)
	return reader.WithBarrier(barrier, known.Count)
}
