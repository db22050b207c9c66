// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/eventually"
)

// Release is one installation of stepgate with several replicas behind a Balancer, as a Deployment and a Service.
type Release struct {
	// Balancer has the address that the API server calls.
	Balancer *Balancer

	env     *environment.Environment
	options Options
	apis    []string

	mu       sync.Mutex
	replicas []*Replica
}

// Start installs stepgate from config/ and starts a replica for each of apis, the addresses at which they reach the API
// server; an empty one is the API server's own. It returns when all replicas are ready.
func Start(ctx context.Context, e *environment.Environment, o Options, apis ...string) (*Release, error) {
	balancer, err := NewBalancer()
	if err != nil {
		return nil, err
	}
	o.URL = balancer.URL()
	e.Cleanup(balancer.Close)
	r := &Release{Balancer: balancer, env: e, options: o, replicas: make([]*Replica, len(apis)), apis: apis}
	if err := install(ctx, e, o, nil); err != nil {
		return nil, err
	}
	for i := range apis {
		if err := r.Start(ctx, i); err != nil {
			return nil, err
		}
	}
	return r, r.WaitReady(ctx)
}

// Name is the name of the Registration.
func (r *Release) Name() string { return r.options.Name }

// Reinstall creates the objects of config/ that are missing.
func (r *Release) Reinstall(ctx context.Context) error {
	return install(ctx, r.env, r.options, client.IgnoreAlreadyExists)
}

// Replicas are the processes that are the replicas now.
func (r *Release) Replicas() []*Replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.replicas)
}

// Start starts replica i, at new addresses as a new Pod has them, and does not wait until it is ready. What was replica
// i before gets no connections any more.
func (r *Release) Start(ctx context.Context, i int) error {
	_, old, err := r.replace(ctx, i)
	if old != nil {
		r.Balancer.Remove(old)
	}
	return err
}

// Restart replaces replica i as a rolling update with maxUnavailable 0 does: the new one is ready before the old one
// is told to end. It returns when the old one has ended.
func (r *Release) Restart(ctx context.Context, i int) error {
	next, old, err := r.replace(ctx, i)
	if err != nil {
		return err
	}
	if err := next.WaitReady(ctx); err != nil {
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

func (r *Release) replace(ctx context.Context, i int) (next, old *Replica, err error) {
	o := r.options
	o.APIServer, o.Hostname = r.apis[i], fmt.Sprintf("%s-%d", o.Name, i)
	if next, err = newReplica(r.env.Webhook, o.Name); err == nil {
		err = next.run(ctx, r.env, o)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("start replica %d: %w", i, err)
	}
	r.Balancer.Add(context.WithoutCancel(ctx), next)
	r.mu.Lock()
	defer r.mu.Unlock()
	old, r.replicas[i] = r.replicas[i], next
	return next, old, nil
}

// WaitReady waits until every replica is ready, and the Balancer knows.
func (r *Release) WaitReady(ctx context.Context) error {
	for _, g := range r.Replicas() {
		if err := g.WaitReady(ctx); err != nil {
			return err
		}
	}
	return eventually.Succeeds(ctx, func() error {
		if ready := r.Balancer.Ready(); ready < len(r.apis) {
			return fmt.Errorf("the balancer sees %d of %d replicas ready", ready, len(r.apis))
		}
		return nil
	})
}

// Stop ends the release: it kills every replica, and the API server does not call it any more.
func (r *Release) Stop(ctx context.Context) error {
	r.Balancer.Close()
	r.Kill()
	return Unregister(ctx, r.env, r.Name())
}

// Kill kills every replica at once. If they were killed one after the other, the API server could call one that is still
// there: a denial of an operation that nobody has pinned needs no time.
func (r *Release) Kill() {
	replicas := slices.DeleteFunc(r.Replicas(), func(replica *Replica) bool { return replica == nil })
	for _, replica := range replicas {
		_ = replica.command.Process.Kill()
	}
	for _, replica := range replicas {
		<-replica.exited
	}
}
