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
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/places"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/refresh"
	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/server"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// program is all that `stepgate-webhook serve` runs.
type program struct {
	server    *server.Server
	source    certs.Source
	known     *siblings.Cache
	recorder  *record.Recorder
	refreshes *refresh.Queue
	releases  *release.Controller
	starts    *starts
	sweeper   *places.Sweeper // nil without --max-update
	verified  *verification   // nil without --verify-kinds
	told      *notifications  // nil without --notifications
	endpoints []endpoint
	traces    *tracer
	// look has the Releaser look at an ApplicationSet.
	look func(set types.NamespacedName)
}

// newProgram builds all parts and opens the webhook's address. It starts nothing but the sending of traces.
func newProgram(ctx context.Context, o *flags.Options, config settings.Config) (*program, error) {
	log, p := logr.FromContextOrDiscard(ctx), &program{}
	var err error
	if p.traces, err = startTracer(ctx, &o.Tracing, command.ThisBuild().Version); err != nil {
		return nil, err
	}
	restConfig, err := kube.RESTConfig(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	p.traces.call(restConfig)
	c, err := kube.New(restConfig)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		command.ThisBuild().Metric())
	if p.source, err = certificateSource(&o.Certificates, c.Config, registry); err != nil {
		return nil, err
	}
	if p.known, err = kube.Watched(c.Config, o.Gate.Namespaces.Watched(), o.Gate.Projects()); err != nil {
		return nil, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name for Events: %w", err)
	}
	if o.Start.Enabled {
		if config.Account, err = account(ctx, c.Clientset); err != nil {
			return nil, err
		}
	}
	metrics, blocked := record.NewMetrics(registry), record.NewWaiting(p.known, clock.RealClock{})
	metrics.Initialise()
	registry.MustRegister(blocked)
	p.recorder = record.NewRecorder(metrics,
		record.NewEvents(kube.EventCreator{Clientset: c.Clientset}, metrics, log, hostname, clock.RealClock{}), blocked)
	p.refreshes = refresh.NewQueue(refresh.NewAnnotation(c.Objects), metrics, p.known, clock.RealClock{})
	live := siblings.NewAPIServer(c.Objects, c.Versions, metrics)
	reader := readerOf(&o.Barrier, live, p.known, c, metrics)
	judged := judge.Dependencies{
		Live: judge.NewLiveEvaluator(reader), Known: p.known, Histories: p.known,
		Windows: judge.ProjectWindows{Known: p.known}, Clock: clock.RealClock{},
	}
	if p.verified, err = newVerification(o, c); err != nil {
		return nil, err
	}
	if p.verified != nil {
		judged.Evidence = p.verified
	}
	j := judge.New(config, judged)
	dependencies := webhook.Dependencies{
		Record: p.recorder, Lookup: siblings.NewLookup(live, p.known.Histories), Refresh: p.refreshes,
	}
	if config.MaxUpdate {
		objects := places.ConfigMaps{Client: c.Clientset.CoreV1().ConfigMaps(o.MaxUpdate.Namespace)}
		dependencies.Places = places.NewStore(objects, reader, clock.RealClock{})
		p.sweeper = &places.Sweeper{Kept: objects, Sets: live}
	}
	gate := webhook.NewGate(j, dependencies)
	registry.MustRegister(record.NewWatches(p.known.Watched, o.Gate.Namespaces.Watched()))
	registry.MustRegister(record.NewExemptions(j.Parser, p.known, &scope{
		Namespaces: o.Gate.Namespaces, versions: c.Versions,
	}, log))
	if config.Release {
		releaser := release.New(j, p.known, blocked, p.refreshes, rand.N[time.Duration])
		p.releases = release.NewController(releaser.Reconcile)
		if o.Start.Enabled {
			if p.starts, err = newStarts(c, metrics, o.Start.Lease(), hostname, p.lookAtAll); err != nil {
				return nil, err
			}
			releaser.StartWith(p.starts.queue)
		}
		if p.verified != nil && p.verified.creator != nil {
			releaser.VerifyWith(p.verified.creator)
		}
		p.look = func(set types.NamespacedName) {
			if o.Gate.Namespaces.Gated(set.Namespace) {
				p.releases.Changed(set)
			}
		}
	}
	if o.Notifications.Enabled {
		if p.told, err = newNotifications(o, config, c, p.known, p.verified, metrics, hostname, log); err != nil {
			return nil, err
		}
	}
	p.known.OnChange(p.changed)
	if p.verified != nil {
		p.verified.OnChange(p.lookAtVerified(j.Parser))
	}
	clients, err := clientsOf(&o.Client)
	if err != nil {
		return nil, err
	}
	p.server, err = server.Listen(server.Options{
		Address: o.Addresses.Webhook,
		Handlers: map[string]admission.Handler{
			webhook.ValidatePath: gate, webhook.MutatePath: webhook.NewMutator(gate, p.known),
			webhook.MutateApplicationSetPath:   webhook.NewStamper(config, p.known, clock.RealClock{}),
			webhook.ValidateApplicationSetPath: webhook.NewApprovalCheck(o.Approvals.Approvers, metrics, clock.RealClock{}),
		},
		Wrap:           p.traces.serve,
		Requests:       metrics,
		GetCertificate: p.source.GetCertificate, Clients: clients, ShutdownDelay: o.Addresses.ShutdownDelay, Log: log,
	})
	if err != nil {
		return nil, err
	}
	ready := &readiness{
		server: p.server, source: p.source, known: p.known, discovery: c.Clientset.Discovery().RESTClient(),
	}
	ui, err := uiEndpoint(o, config, c, p.known, p.verified, log)
	if err != nil {
		return nil, err
	}
	p.endpoints = []endpoint{
		{flag: "--health-probe-bind-address", address: o.Addresses.Probe, handler: ready.mux()},
		{flag: "--metrics-bind-address", address: o.Addresses.Metrics, handler: metricsMux(registry, o.Addresses.Profiling)},
		ui,
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
	if p.sweeper != nil {
		group.Go(func() error { p.sweeper.Run(running); return nil })
	}
	if p.verified != nil {
		group.Go(func() error { return ended(running, "watch of evidence", p.verified.run(running)) })
	}
	if p.told != nil {
		group.Go(func() error { p.told.run(running); return nil })
	}
	group.Go(func() error { p.known.Run(running); return ended(running, "watch of Applications", nil) })
	for _, e := range p.endpoints {
		group.Go(func() error { return e.serve(running) })
	}
	return group.Wait()
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
