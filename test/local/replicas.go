package local

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Replicas are one installation of stepgate with several processes behind a Balancer, as a Deployment and a Service.
type Replicas struct {
	// Balancer is what the API server calls.
	Balancer *Balancer

	cluster *Cluster
	admin   client.Client
	options GateOptions
	apis    []string

	mu    sync.Mutex
	gates []*Gate
}

// StartReplicas installs stepgate from config/ and starts a replica for each of apis, the addresses at which they
// reach the API server; an empty one is its own. It returns when all replicas are ready.
func (c *Cluster) StartReplicas(ctx context.Context, root string, o GateOptions, apis ...string) (*Replicas, error) {
	admin, err := c.Client("")
	if err != nil {
		return nil, err
	}
	balancer, err := NewBalancer()
	if err != nil {
		return nil, err
	}
	o.URL = balancer.URL()
	r := &Replicas{Balancer: balancer, cluster: c, admin: admin, options: o, gates: make([]*Gate, len(apis)), apis: apis}
	if err := c.Install(ctx, root, o.Registration); err != nil {
		r.Stop()
		return nil, err
	}
	for i := range apis {
		if err := r.Start(ctx, i); err != nil {
			r.Stop()
			return nil, err
		}
	}
	if err := r.WaitReady(ctx); err != nil {
		r.Stop()
		return nil, err
	}
	return r, nil
}

// Name is that of the Registration.
func (r *Replicas) Name() string { return r.options.Name }

// Reinstall creates what is missing of the objects of config/.
func (r *Replicas) Reinstall(ctx context.Context, root string) error {
	return r.cluster.reinstall(ctx, root, r.options.Registration)
}

// Gates are the processes that are the replicas now.
func (r *Replicas) Gates() []*Gate {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.gates)
}

// Start starts replica i, at new addresses as a new Pod has them, and does not wait until it is ready. What was replica
// i before gets no connections any more.
func (r *Replicas) Start(ctx context.Context, i int) error {
	_, old, err := r.replace(ctx, i)
	if old != nil {
		r.Balancer.Remove(old)
	}
	return err
}

// Restart replaces replica i as a rolling update with maxUnavailable 0 does: the new one is ready before the old one
// is told to end. It returns when the old one has ended.
func (r *Replicas) Restart(ctx context.Context, i int) error {
	gate, old, err := r.replace(ctx, i)
	if err != nil {
		return err
	}
	if err := gate.WaitReady(ctx); err != nil {
		return err
	}
	if err := old.Terminate(); err != nil {
		return err
	}
	code := old.Wait()
	r.Balancer.Remove(old)
	if code != 0 {
		return fmt.Errorf("replica %d ended with %d after SIGTERM: %s", i, code, old.Log())
	}
	return nil
}

func (r *Replicas) replace(ctx context.Context, i int) (gate, old *Gate, err error) {
	if gate, err = r.cluster.StartReplica(ctx, r.withAPI(i)); err != nil {
		return nil, nil, fmt.Errorf("start replica %d: %w", i, err)
	}
	r.Balancer.Add(context.WithoutCancel(ctx), gate)
	r.mu.Lock()
	defer r.mu.Unlock()
	old, r.gates[i] = r.gates[i], gate
	return gate, old, nil
}

func (r *Replicas) withAPI(i int) GateOptions {
	o := r.options
	o.APIServer = r.apis[i]
	return o
}

// WaitReady waits until every replica is ready, and the Balancer knows.
func (r *Replicas) WaitReady(ctx context.Context) error {
	for _, g := range r.Gates() {
		if err := g.WaitReady(ctx); err != nil {
			return err
		}
	}
	return Poll(ctx, func() error {
		if ready := r.Balancer.Ready(); ready < len(r.apis) {
			return fmt.Errorf("the balancer sees %d of %d replicas ready", ready, len(r.apis))
		}
		return nil
	})
}

// Stop kills every replica.
func (r *Replicas) Stop() {
	r.Balancer.Close()
	for _, g := range r.Gates() {
		if g != nil {
			g.Kill()
		}
	}
}
