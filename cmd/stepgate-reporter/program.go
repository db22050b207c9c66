// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/presence"
	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// program is all that `stepgate-reporter serve` runs.
type program struct {
	known     *cluster.Cache
	presence  *presence.Watch
	evidence  *evidence.Source
	told      *notifications // nil without --notifications
	endpoints []serve.Endpoint
}

// parts are what the parts of a program are made from. The reporter has watches of its own: it knows a rollout as the
// gate does, and asks no gate. The config says whether there is one, by presence.
type parts struct {
	options  *flags.Reporter
	config   settings.Config
	cluster  *kube.Cluster
	known    *cluster.Cache
	presence *presence.Watch
	evidence *evidence.Source
	registry *prometheus.Registry
	log      logr.Logger
}

// newProgram builds all parts. It starts nothing.
func newProgram(ctx context.Context, o *flags.Reporter, config settings.Config) (*program, error) {
	p, err := newParts(ctx, o, config)
	if err != nil {
		return nil, err
	}
	told, err := p.notifications()
	if err != nil {
		return nil, err
	}
	ui, err := p.ui()
	if err != nil {
		return nil, err
	}
	reached := serve.NewReached(p.cluster.Clientset.Discovery().RESTClient(), clock.RealClock{})
	ready := func() error {
		if err := serve.Listed(p.known); err != nil {
			return err
		}
		return reached.Check()
	}
	return &program{
		known: p.known, presence: p.presence, evidence: p.evidence, told: told, endpoints: []serve.Endpoint{
			serve.Probes(&o.Endpoints, serve.ProbesMux(ready)), serve.Metrics(&o.Endpoints, p.registry), ui,
		},
	}, nil
}

// newParts opens the connection to the API server, and makes the watches.
func newParts(ctx context.Context, o *flags.Reporter, config settings.Config) (*parts, error) {
	restConfig, err := kube.RESTConfig(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	p := &parts{
		options: o, config: config, registry: prometheus.NewRegistry(), log: logr.FromContextOrDiscard(ctx),
	}
	if p.cluster, err = kube.New(restConfig); err != nil {
		return nil, err
	}
	if p.known, err = kube.Watched(restConfig, o.Gate.Namespaces.Watched(), o.Gate.Projects()); err != nil {
		return nil, err
	}
	p.known.Track(config.Tracking)
	name := types.NamespacedName{Namespace: o.Installation.Namespace(), Name: o.Installation.Name()}
	p.presence = presence.NewWatch(p.cluster.Clientset, name, o.Gate.Namespaces.Watched())
	p.config.Presence = p.presence.Of
	objects, err := evidence.NewObjects(restConfig)
	if err != nil {
		return nil, err
	}
	p.evidence = serve.Evidence(&o.Rule, p.cluster, objects)
	p.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), command.ThisBuild().Metric("reporter_build_info"),
		record.NewWatches(p.known.Watched, o.Gate.Namespaces.Watched()))
	return p, nil
}

// run runs all parts until ctx is done or one of them fails.
func (p *program) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serve.Ended(ctx, "watch of evidence", p.evidence.Run(ctx)) })
	group.Go(func() error { p.known.Run(ctx); return serve.Ended(ctx, "watch of Applications", nil) })
	group.Go(func() error { p.presence.Run(ctx); return nil })
	if p.told != nil {
		group.Go(func() error {
			p.presence.Wait(ctx) // nobody is told that something is held before it is known whether there is a gate
			p.told.run(ctx)
			return nil
		})
	}
	for _, e := range p.endpoints {
		group.Go(func() error { return e.Serve(ctx) })
	}
	return group.Wait()
}
