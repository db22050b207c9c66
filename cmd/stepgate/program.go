package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/refresh"
	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/server"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// program is all that `stepgate serve` runs.
type program struct {
	server    *server.Server
	source    certs.Source
	known     *siblings.Cache
	recorder  *record.Recorder
	refreshes *refresh.Queue
	reviews   *release.Reviews
	endpoints []endpoint
	traces    *tracer
}

// newProgram builds all parts and opens the webhook's address. It starts nothing but the sending of traces.
func newProgram(ctx context.Context, o *options, config settings.Config) (*program, error) {
	log, p := logr.FromContextOrDiscard(ctx), &program{}
	var err error
	if p.traces, err = o.tracing.start(ctx, thisBuild().version); err != nil {
		return nil, err
	}
	c, err := connect(o.kubeconfig, p.traces)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(thisBuild()))
	if p.source, err = o.certificates.source(c.config, registry); err != nil {
		return nil, err
	}
	if p.known, err = watched(c.config, o.gate.namespaces.watched(), o.gate.projects()); err != nil {
		return nil, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name for Events: %w", err)
	}
	metrics, blocked := record.NewMetrics(registry), record.NewBlocked(p.known, time.Now)
	metrics.Initialise()
	registry.MustRegister(blocked)
	p.recorder = record.NewRecorder(metrics, record.NewEvents(eventCreator{c.clientset}, metrics, log, hostname, time.Now), blocked)
	p.refreshes = refresh.NewQueue(refresh.NewAnnotation(c.objects), metrics, p.known, time.Now)
	live := siblings.NewAPIServer(c.objects, c.versions, metrics)
	j := judge.New(config, judge.Dependencies{
		Live: judge.NewLiveEvaluator(o.barrier.reader(live, p.known, c, metrics)), Known: p.known, Watch: p.known,
		Windows: judge.ProjectWindows{Known: p.known}, Now: time.Now,
	})
	gate := webhook.NewGate(j, webhook.Dependencies{
		Record: p.recorder, Witness: siblings.NewWitness(live, p.known.Observations), Refresh: p.refreshes,
	})
	registry.MustRegister(record.NewWatches(p.known.Watched, o.gate.namespaces.watched()))
	registry.MustRegister(record.NewExemptions(j.Parser, p.known, &scope{namespaces: o.gate.namespaces, versions: c.versions}, log))
	if config.Release {
		p.reviews = release.NewReviews(release.New(j, p.known, blocked, p.refreshes, rand.N[time.Duration]).Review)
		p.known.OnChange(func(set types.NamespacedName) {
			if o.gate.namespaces.Gated(set.Namespace) {
				p.reviews.Changed(set)
			}
		})
	}
	clients, err := o.client.clients()
	if err != nil {
		return nil, err
	}
	p.server, err = server.Listen(server.Options{
		Address: o.addresses.webhook,
		Handlers: map[string]admission.Handler{
			webhook.Path: gate, webhook.MutatePath: webhook.NewMutator(gate, p.known),
			webhook.StampPath: webhook.NewStamper(time.Now), webhook.ApprovalPath: webhook.NewApprovalCheck(o.approvals.approvers, metrics, time.Now),
		},
		Wrap:           p.traces.serve,
		Requests:       metrics,
		GetCertificate: p.source.GetCertificate, Clients: clients, ShutdownDelay: o.addresses.shutdownDelay, Log: log,
	})
	if err != nil {
		return nil, err
	}
	ready := &readiness{server: p.server, source: p.source, known: p.known, discovery: c.clientset.Discovery().RESTClient()}
	p.endpoints = []endpoint{
		{flag: "--health-probe-bind-address", address: o.addresses.probe, handler: ready.mux()},
		{flag: "--metrics-bind-address", address: o.addresses.metrics, handler: metricsMux(registry, o.addresses.profiling)},
	}
	return p, nil
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
	group.Go(func() error { p.release(running); return nil })
	group.Go(func() error { p.known.Run(running); return ended(running, "watch of Applications", nil) })
	for _, e := range p.endpoints {
		group.Go(func() error { return e.serve(running) })
	}
	return group.Wait()
}

// release releases what waits until ctx is done, once the watches are complete.
func (p *program) release(ctx context.Context) {
	if p.reviews != nil && cache.WaitForCacheSync(ctx.Done(), p.known.Synced) {
		p.reviews.Run(ctx)
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
