package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/release"
)

// replicas is how many there are.
const replicas = 2

// stand is what the faults happen to.
type stand struct {
	quick   bool
	cluster *environment.Environment
	admin   client.Client
	// proxies are between each replica and the API server.
	proxies []*faultproxy.APIProxy
	options release.Options
	release *release.Release
	writer  *load.Writer
	// load are rollouts for writes through the API server, probe is one for measuring the recovery, and quiet one that
	// nobody writes to but the fault itself.
	load         *load.Load
	probe, quiet *load.Rollout
	memory       *memory
}

func start(ctx context.Context, quick bool) (s *stand, err error) {
	progress("starting etcd and kube-apiserver, building stepgate")
	s = &stand{quick: quick}
	defer func() {
		if err != nil {
			_ = s.stop() // the first error says more
		}
	}()
	if s.cluster, err = environment.Start(ctx, environment.Options{}); err != nil {
		return s, err
	}
	s.admin = s.cluster.Admin
	if err = s.install(ctx); err != nil {
		return s, err
	}
	return s, s.prepare(ctx)
}

// install starts the replicas, each with a proxy to its API server.
func (s *stand) install(ctx context.Context) (err error) {
	var apis []string
	for range replicas {
		proxy, err := faultproxy.NewAPIProxy(s.cluster.Cluster)
		if err != nil {
			return err
		}
		s.proxies = append(s.proxies, proxy)
		apis = append(apis, proxy.URL())
	}
	s.options = release.Options{
		Registration: release.Registration{Name: "stepgate"},
		Args:         []string{"--shutdown-delay=2s", "--cert-leaf-duration=30s", "--cert-ca-duration=1h"},
	}
	if s.release, err = release.Start(ctx, s.cluster, s.options, apis...); err != nil {
		return err
	}
	s.memory = sample(s.release)
	return nil
}

// prepare creates the rollouts, and waits until the API server calls the release.
func (s *stand) prepare(ctx context.Context) (err error) {
	if s.writer, err = load.NewWriter(s.cluster.Cluster, &load.Tally{}); err != nil {
		return err
	}
	if s.probe, err = s.writer.NewRollout(ctx, s.cluster.Cluster, "probe"); err != nil {
		return err
	}
	if s.quiet, err = s.writer.NewRollout(ctx, s.cluster.Cluster, "quiet"); err != nil {
		return err
	}
	if s.load, err = s.writer.NewLoad(ctx, s.cluster.Cluster, load.LoadOptions{Name: "load", Rollouts: 8, Rate: 16}); err != nil {
		return err
	}
	return eventually.Succeeds(ctx, func() error {
		if s.probe.SetDegraded(ctx, true) != load.Right || s.probe.Sync(ctx) != load.Right {
			return errors.New("a write that has to be denied is not")
		}
		return nil
	})
}

func (s *stand) stop() error {
	if s.memory != nil {
		s.memory.stop()
	}
	if s.release != nil {
		s.release.Stop()
	}
	for _, proxy := range s.proxies {
		proxy.Close()
	}
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Stop()
}

// times is n, or less when it has to be quick.
func (s *stand) times(n int) int {
	if s.quick {
		return max(1, n/5)
	}
	return n
}

// all has every replica's API server do this.
func (s *stand) all(faults ...faultproxy.Fault) {
	for _, proxy := range s.proxies {
		proxy.Set(faults...)
	}
}

// under writes all the time while work is done.
func (s *stand) under(ctx context.Context, work func(context.Context) error) error {
	writing, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { s.load.Run(writing) })
	err := work(ctx)
	stop()
	group.Wait()
	return err
}

// pass lets a fault last for a time.
func pass(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
		return nil
	}
}

// memory samples the resident memory of the replicas.
type memory struct {
	mu   sync.Mutex
	mib  float64
	stop context.CancelFunc
}

func sample(release *release.Release) *memory {
	ctx, cancel := context.WithCancel(context.Background())
	m := &memory{stop: cancel}
	go func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			for _, gate := range release.Replicas() {
				if mib, err := gate.ResidentMiB(); err == nil { // it may have been killed
					m.mu.Lock()
					m.mib = max(m.mib, mib)
					m.mu.Unlock()
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return m
}

// most is the largest sample so far.
func (m *memory) most() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mib
}
