package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/release"
)

// mode is how a rollout is gated; it is also the namespace of its Applications, to which the registration of the gate is
// limited.
type mode string

const (
	off   mode = "off"
	on    mode = "on"
	audit mode = "audit"
)

// destination is the namespace that the Applications deploy to.
func (m mode) destination() string { return "work-" + string(m) }

// gateName is the name of the gate's instance, of its namespace and of its service account.
func (m mode) gateName() string { return "stepgate-" + string(m) }

// stand is everything that runs: the cluster, Argo CD, and the gates.
type stand struct {
	cluster  *environment.Environment
	argo     *argocd.ArgoCD
	recorder *recorder
	unwatch  context.CancelFunc
	gates    map[mode]*release.Replica
	clis     map[mode]*argocd.CLI
}

// longResync is an interval at which nothing happens in a run.
const longResync = 6 * time.Hour

func newStand(ctx context.Context, root string, modes []mode) (*stand, error) {
	e, err := environment.Start(ctx, environment.Options{OnlyArgoCD: true})
	if err != nil {
		return nil, err
	}
	s := &stand{cluster: e, gates: map[mode]*release.Replica{}}
	if err := s.start(ctx, root, modes); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *stand) start(ctx context.Context, root string, modes []mode) (err error) {
	var namespaces []string
	for _, m := range modes {
		namespaces = append(namespaces, string(m))
		if err := s.cluster.CreateNamespace(ctx, m.destination()); err != nil {
			return err
		}
	}
	if s.argo, err = argocd.Start(ctx, s.cluster.Cluster, argocd.Options{Root: root, Namespaces: namespaces, Resync: longResync}); err != nil {
		return err
	}
	watching, unwatch := context.WithCancel(ctx)
	s.unwatch = unwatch
	if s.recorder, err = record(watching, s.cluster.Config); err != nil {
		return err
	}
	s.clis = map[mode]*argocd.CLI{}
	for _, m := range modes {
		if s.clis[m], err = s.argo.NewCLI(ctx, string(m)); err != nil {
			return fmt.Errorf("the argocd CLI: %w", err)
		}
	}
	return s.startGates(ctx, modes)
}

func (s *stand) startGates(ctx context.Context, modes []mode) (err error) {
	for _, m := range modes {
		if m == off {
			continue
		}
		o := release.Options{Registration: release.Registration{Name: m.gateName(), Namespaces: []string{string(m)}}}
		if m == audit {
			o.Args = []string{"--mode=audit"}
		}
		if m == loop {
			o.Args = []string{"--refresh-stale-siblings=false"}
		}
		if s.gates[m], err = release.StartOne(ctx, s.cluster, o); err != nil {
			return fmt.Errorf("start the gate %s: %w", m.gateName(), err)
		}
	}
	for _, g := range s.gates {
		if err := g.WaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stand) stop() error {
	// The API server waits for open watches when it is stopped.
	if s.unwatch != nil {
		s.unwatch()
	}
	for _, g := range s.gates {
		if g != nil {
			g.Kill()
		}
	}
	if s.argo != nil {
		s.argo.Stop()
	}
	return s.cluster.Stop()
}
