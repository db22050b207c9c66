package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

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
	release *local.Release
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
	s.release, err = s.cluster.StartRelease(ctx, s.root, local.GateOptions{
		Binary: s.binary, Registration: local.Registration{Name: name}, Args: args,
	}, "", "", "")
	return err
}

func (s *stand) stop() error {
	if s.release != nil {
		s.release.Stop()
	}
	return s.cluster.Stop()
}

// load creates the rollouts. It returns when the gate is called: the API server learns of a registration a moment after
// it is stored.
func (s *stand) load(ctx context.Context, o options, tally *traffic.Tally) (*traffic.Load, error) {
	warm := &traffic.Tally{}
	first, err := traffic.NewWriter(s.cluster, warm)
	if err != nil {
		return nil, err
	}
	probe, err := first.NewRollout(ctx, s.cluster, "probe")
	if err != nil {
		return nil, err
	}
	if err := until(ctx, time.Minute, "the API server to call stepgate", func() (bool, error) {
		return probe.SetDegraded(ctx, true) == traffic.Right && probe.Sync(ctx) == traffic.Right, nil
	}); err != nil {
		return nil, err
	}
	writer, err := traffic.NewWriter(s.cluster, tally)
	if err != nil {
		return nil, err
	}
	return writer.NewLoad(ctx, s.cluster, o.rollouts, o.rate)
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

// until polls.
func until(ctx context.Context, patience time.Duration, what string, check func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		done, err := check()
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
