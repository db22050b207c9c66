// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/refresh"
	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/server"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// The calls of background, per second and in a burst. None of a decision waits for them.
const (
	backgroundCalls = 5
	backgroundBurst = 10
)

// newProgram builds all parts and opens the webhook's address. It starts nothing but the sending of traces.
func newProgram(ctx context.Context, o *flags.Options, config settings.Config) (*program, error) {
	b, err := newBuilder(ctx, o, config)
	if err != nil {
		return nil, err
	}
	for _, build := range []func() error{b.judges, b.release, b.serve} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	b.listen()
	return b.program, nil
}

// builder is what the parts of a program are made from.
type builder struct {
	*program
	log     logr.Logger
	options *flags.Options
	config  settings.Config
	cluster *kube.Cluster
	// background has the clients of what probes and scrapes show.
	background *kube.Cluster
	registry   *prometheus.Registry
	metrics    *record.Metrics
	waiting    *record.Waiting
	hostname   string
	// judge and gate are nil before judges.
	judge *judge.Judge
	gate  *webhook.Gate
}

// newBuilder opens the connection to the API server, and makes what the other parts are made from.
func newBuilder(ctx context.Context, o *flags.Options, config settings.Config) (*builder, error) {
	b := &builder{
		program: &program{}, log: logr.FromContextOrDiscard(ctx), options: o, config: config,
		registry: prometheus.NewRegistry(),
	}
	var err error
	if b.traces, err = startTracer(ctx, &o.Tracing, command.ThisBuild().Version); err != nil {
		return nil, err
	}
	restConfig, err := kube.RESTConfig(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	b.traces.call(restConfig)
	if b.cluster, err = kube.New(restConfig); err != nil {
		return nil, err
	}
	background := rest.CopyConfig(restConfig)
	background.QPS, background.Burst = backgroundCalls, backgroundBurst
	if b.background, err = kube.New(background); err != nil {
		return nil, err
	}
	if b.hostname, err = serve.Hostname(); err != nil {
		return nil, err
	}
	if o.Starts {
		if b.config.Account, err = account(ctx, b.cluster.Clientset); err != nil {
			return nil, err
		}
	}
	b.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		command.ThisBuild().Metric("build_info"))
	if b.source, err = certificateSource(o, b.cluster.Config, b.registry); err != nil {
		return nil, err
	}
	b.known, err = kube.Watched(b.cluster.Config, o.Gate.Namespaces.Watched(), o.Gate.Projects())
	if err != nil {
		return nil, err
	}
	b.known.Track(b.config.Tracking)
	b.metrics, b.waiting = record.NewMetrics(b.registry), record.NewWaiting(b.known, clock.RealClock{})
	b.metrics.Initialise()
	return b, nil
}

// judges makes what judges and records.
func (b *builder) judges() (err error) {
	o, c := b.options, b.cluster
	b.recorder = record.NewRecorder(b.metrics,
		record.NewEvents(kube.EventCreator{Clientset: c.Clientset}, b.metrics, b.log, b.hostname, clock.RealClock{}),
		b.waiting)
	b.refreshes = refresh.NewQueue(refresh.NewAnnotation(c.Objects), b.metrics, b.known, clock.RealClock{})
	b.requests = release.NewRequests(b.refreshes, b.known, clock.RealClock{})
	live := cluster.NewAPIServer(c.Judged, c.Versions, b.metrics).Tracking(b.config.Tracking)
	reader := readerOf(o, live, b.known, c, b.metrics)
	judged := judge.Dependencies{
		Live: judge.NewLiveEvaluator(reader), Known: b.known, Histories: b.known,
		Windows: judge.ProjectWindows{Known: b.known}, Clock: clock.RealClock{},
	}
	if b.evidence, b.creator, err = newEvidence(o, c); err != nil {
		return err
	}
	judged.Evidence = b.evidence
	b.judge = judge.New(b.config, judged)
	dependencies := webhook.Dependencies{Record: b.recorder, Lookup: cluster.NewLookup(live, b.known.Histories)}
	if b.config.Release {
		dependencies.Requests = b.requests
	}
	way := &course.Course{
		Judge: b.judge, Known: b.known,
		Roots: outlook.NewRoots(b.judge, b.known, slots.NewView(b.known, nil, clock.RealClock{})),
	}
	if b.config.MaxUpdate {
		objects := slots.ConfigMaps{Client: c.Clientset.CoreV1().ConfigMaps(o.Installation.Namespace())}
		way.Slots = slots.NewStore(objects, reader, clock.RealClock{})
		b.sweeper = &slots.Sweeper{Kept: objects, Sets: live}
	}
	if o.Ledger {
		if err := b.keep(live); err != nil {
			return err
		}
	}
	b.gathered = record.NewGathered(b.waiting, record.NewExemptions(b.judge.Parser, b.known, &scope{
		Namespaces: o.Gate.Namespaces, versions: b.background.Versions,
	}, b.log))
	b.registry.MustRegister(record.NewWatches(b.known.Watched, o.Gate.Namespaces.Watched()), b.gathered)
	b.gate = webhook.NewGate(way, dependencies)
	return nil
}

// release makes what releases, starts and has evidence created, and what has it look again.
func (b *builder) release() (err error) {
	b.known.OnChange(b.changed)
	b.evidence.OnChange(serve.Verified(b.known, b.judge.Parser, b.changed))
	if !b.config.Release {
		return nil
	}
	o := b.options
	releaser := release.New(b.judge, b.known, b.waiting, b.requests, rand.N[time.Duration])
	b.releases = release.NewController(releaser.Reconcile)
	if o.Starts {
		if b.starts, err = newStarts(b.cluster, b.recorder, o.Installation.Start(), b.hostname, b.lookAtAll); err != nil {
			return err
		}
		releaser.StartWith(b.starts.queue)
	}
	switch {
	case b.starts != nil:
		releaser.FollowUnless(b.starts.queue.Leads)
	case b.keeping != nil:
		releaser.FollowUnless(b.keeping.leads.Load)
	}
	if b.creator != nil {
		releaser.VerifyWith(b.creator)
	}
	b.look = func(set types.NamespacedName) {
		if o.Gate.Namespaces.Gated(set.Namespace) {
			b.releases.Changed(set)
		}
	}
	return nil
}

// serve opens the webhook's address.
func (b *builder) serve() error {
	o := b.options
	clients, err := clientsOf(&o.Client)
	if err != nil {
		return err
	}
	reporter := o.Installation.Reporter()
	b.server, err = server.Listen(server.Options{
		Address: o.Addresses.Webhook,
		Handlers: map[string]admission.Handler{
			webhook.ValidatePath: b.gate, webhook.MutatePath: webhook.NewMutator(b.gate),
			webhook.MutateApplicationSetPath: webhook.NewStamper(b.config, b.known, reporter, clock.RealClock{}),
			webhook.ValidateApplicationSetPath: webhook.NewApprovalCheck(
				o.Approvals.Approvers, reporter, b.metrics, clock.RealClock{}),
		},
		Wrap:           b.traces.serve,
		Requests:       b.metrics,
		GetCertificate: b.source.GetCertificate, Clients: clients, ShutdownDelay: o.Addresses.ShutdownDelay, Log: b.log,
	})
	return err
}

// listen makes the other endpoints. They are opened when the program runs.
func (b *builder) listen() {
	ready := &readiness{
		server: b.server, source: b.source, known: b.known,
		api: serve.NewReached(b.background.Clientset.Discovery().RESTClient(), clock.RealClock{}),
	}
	endpoints := &b.options.Endpoints
	b.endpoints = []serve.Endpoint{
		serve.Probes(endpoints, serve.ProbesMux(ready.check)), serve.Metrics(endpoints, b.registry),
	}
}
