package main

import (
	"context"
	"errors"
	"sync"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/release"
)

// name is that of the release and of everything of it.
const name = "stepgate"

// stand is what a soak runs on.
type stand struct {
	cluster *environment.Environment
	release *release.Release
}

func start(ctx context.Context) (s *stand, err error) {
	progress("starting etcd and kube-apiserver, building stepgate")
	s = &stand{}
	s.cluster, err = environment.Start(ctx, environment.Options{})
	return s, err
}

// install starts three replicas with these flags.
func (s *stand) install(ctx context.Context, args ...string) (err error) {
	s.release, err = release.Start(ctx, s.cluster, release.Options{
		Registration: release.Registration{Name: name}, Args: args,
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
func (s *stand) load(ctx context.Context, name string, o options, tally *load.Tally) (*load.Load, error) {
	writer, err := load.NewWriter(s.cluster.Cluster, tally)
	if err != nil {
		return nil, err
	}
	return writer.NewLoad(ctx, s.cluster.Cluster, load.LoadOptions{Name: name, Rollouts: o.rollouts, Rate: o.rate})
}

// called waits until the API server calls stepgate: it learns of a registration a moment after it is stored.
func (s *stand) called(ctx context.Context) error {
	writer, err := load.NewWriter(s.cluster.Cluster, &load.Tally{})
	if err != nil {
		return err
	}
	r, err := writer.NewRollout(ctx, s.cluster.Cluster, "probe")
	if err != nil {
		return err
	}
	return eventually.Succeeds(ctx, func() error {
		if r.SetDegraded(ctx, true) != load.Right || r.Sync(ctx) != load.Right {
			return errors.New("a write that has to be denied is not")
		}
		return nil
	})
}

// during sends the load while work is done.
func during(ctx context.Context, sender *load.Load, work func(context.Context) error) error {
	sending, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { sender.Run(sending) })
	err := work(ctx)
	stop()
	group.Wait()
	return err
}
