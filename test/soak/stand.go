package main

import (
	"context"
	"errors"
	"os"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/local"
	"github.com/stepgate/stepgate/test/traffic"
)

// name is that of the release and of everything of it.
const name = "stepgate"

// stand is what a soak runs on.
type stand struct {
	root    string
	cluster *local.Cluster
	admin   client.Client
	binary  string
	release *local.Replicas
}

func start(ctx context.Context) (s *stand, err error) {
	progress("starting etcd and kube-apiserver, building stepgate")
	s = &stand{}
	if s.root, err = os.Getwd(); err != nil {
		return nil, err
	}
	if s.cluster, err = local.StartCluster(s.root); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.cluster.Stop() // the first error says more
		}
	}()
	if s.admin, err = s.cluster.Client(""); err != nil {
		return nil, err
	}
	if s.binary, err = local.Build(s.root, s.cluster.Dir()); err != nil {
		return nil, err
	}
	return s, s.cluster.InstallWriters(ctx)
}

// install starts three replicas with these flags.
func (s *stand) install(ctx context.Context, args ...string) (err error) {
	s.release, err = s.cluster.StartReplicas(ctx, s.root, local.GateOptions{
		Binary: s.binary, Registration: local.Registration{Name: name}, Args: args,
	}, "", "", "")
	if err != nil {
		return err
	}
	return s.called(ctx)
}

func (s *stand) stop() error {
	if s.release != nil {
		s.release.Stop()
	}
	return s.cluster.Stop()
}

// load creates rollouts in namespaces of this name.
func (s *stand) load(ctx context.Context, name string, o options, tally *traffic.Tally) (*traffic.Load, error) {
	writer, err := traffic.NewWriter(s.cluster, tally)
	if err != nil {
		return nil, err
	}
	return writer.NewLoad(ctx, s.cluster, traffic.LoadOptions{Name: name, Rollouts: o.rollouts, Rate: o.rate})
}

// called waits until the API server calls stepgate: it learns of a registration a moment after it is stored.
func (s *stand) called(ctx context.Context) error {
	writer, err := traffic.NewWriter(s.cluster, &traffic.Tally{})
	if err != nil {
		return err
	}
	r, err := writer.NewRollout(ctx, s.cluster, "probe")
	if err != nil {
		return err
	}
	return local.Poll(ctx, func() error {
		if r.SetDegraded(ctx, true) != traffic.Right || r.Sync(ctx) != traffic.Right {
			return errors.New("a write that has to be denied is not")
		}
		return nil
	})
}

// during sends the load while work is done.
func during(ctx context.Context, load *traffic.Load, work func(context.Context) error) error {
	sending, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { load.Run(sending) })
	err := work(ctx)
	stop()
	group.Wait()
	return err
}
