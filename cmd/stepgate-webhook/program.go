package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/webhook/places"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/refresh"
	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/server"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// program is all that `stepgate-webhook serve` runs.
type program struct {
	server    *server.Server
	source    certs.Source
	known     *siblings.Cache
	recorder  *record.Recorder
	refreshes *refresh.Queue
	gathered  *record.Gathered
	requests  *release.Requests
	releases  *release.Controller
	starts    *starts
	sweeper   *places.Sweeper // nil without --max-update
	verified  *verification
	told      *notifications // nil without --notifications
	endpoints []endpoint
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
	group.Go(func() error { return ended(running, "certificates", p.source.Start(running)) })
	group.Go(func() error { p.recorder.Run(running); return nil })
	group.Go(func() error { p.refreshes.Run(running); return nil })
	group.Go(func() error { p.gather(running); return nil })
	group.Go(func() error { p.release(running); return nil })
	if p.sweeper != nil {
		group.Go(func() error { p.sweeper.Run(running); return nil })
	}
	group.Go(func() error { return ended(running, "watch of evidence", p.verified.run(running)) })
	if p.told != nil {
		group.Go(func() error { p.told.run(running); return nil })
	}
	group.Go(func() error { p.known.Run(running); return ended(running, "watch of Applications", nil) })
	for _, e := range p.endpoints {
		group.Go(func() error { return e.serve(running) })
	}
	return group.Wait()
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

// changed has those look at an ApplicationSet that do so.
func (p *program) changed(set types.NamespacedName) {
	if p.look != nil {
		p.look(set)
	}
	if p.told != nil {
		p.told.notifier.Changed(set)
	}
}

// either returns a context that is done when one of the two is.
func either(a, b context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancel(a)
	stop := context.AfterFunc(b, cancel)
	return both, func() { stop(); cancel() }
}

// ended returns an error if a part ends before ctx is done.
func ended(ctx context.Context, part string, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = errors.New("ended unexpectedly")
	}
	return fmt.Errorf("%s: %w", part, err)
}

// readerOf proves what is known by the barrier, if there is one.
func readerOf(
	b *flags.Barrier, live *siblings.APIServer, known *siblings.Cache, c *kube.Cluster, metrics *record.Metrics,
) *siblings.Reader {
	reader := siblings.NewReader(live, known)
	if b.Application == "" {
		return reader
	}
	return reader.WithBarrier(siblings.NewBarrier(c.Versions, b.Name(), known, metrics), known, b.Above)
}
