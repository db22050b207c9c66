// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/test/script"
)

// perSet is how many Applications an ApplicationSet of the fleet has.
const perSet = 20

// longestStart bounds the time until an instance is ready, on a busy machine.
const longestStart = 10 * time.Minute

// fleet is part 5: many ApplicationSets of 20 Applications each in some namespaces, while Argo CD writes their
// statuses.
type fleet struct {
	*suite
	namespaces []string
	// raw is a client of the administrator that decodes nothing.
	raw rest.Interface
	// store writes Applications and statuses, and managed are the managedFields of an Application.
	store   *store
	managed []metav1.ManagedFieldsEntry
	// sets counts the ApplicationSets that exist, and applications are the Applications whose statuses are written.
	sets         int
	applications []types.NamespacedName
	// allowed and denied are a rollout of each namespace, of which a sync may start and may not. operated are rollouts
	// of which a sync may start, too, and does so now and then.
	allowed, denied, operated []*rollout
	server, etcd              int // processes
	// commits counts the commits that were rolled out since.
	commits int
}

// fleets is part 5: one instance of stepgate, and then two that share the namespaces, for each size.
func fleets(ctx context.Context, s *suite) []goal {
	f := s.newFleet(ctx)
	for n, size := range s.options.sizes {
		f.grow(ctx, size)
		if n == 0 && s.options.rolling > 0 {
			f.rollouts(ctx)
		}
		f.measure(ctx, false, f.namespaces)
		if f.options.ledger {
			f.measure(ctx, true, f.namespaces)
		}
		if half := len(f.namespaces) / 2; half > 0 {
			f.measure(ctx, false, f.namespaces[:half], f.namespaces[half:])
		}
	}
	return nil
}

func (s *suite) newFleet(ctx context.Context) *fleet {
	for _, replica := range s.replicas { // of other parts, which would watch the fleet, too
		replica.Kill()
		script.Must(installed.Unregister(ctx, s.Environment, replica.Name))
	}
	host := script.Get(s.URL())
	f := &fleet{suite: s, raw: s.patcher("").client}
	f.server = script.Get(process.Find("kube-apiserver", "--secure-port="+host.Port())).PID
	f.etcd = script.Get(process.Find("etcd", "--listen-client-urls="+s.Etcd())).PID
	for i := range s.options.namespaces {
		name := fmt.Sprintf("fleet-%02d", i)
		script.Must(s.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		f.namespaces = append(f.namespaces, name)
	}
	if s.none == nil {
		s.none = newRollout(ctx, s.Admin, "bench-none", map[string]string{"stepgate.io/ignore": "true"}, 3)
	}
	var app argo.Application
	script.Must(s.Admin.Get(ctx, types.NamespacedName{Namespace: s.none.namespace, Name: s.none.first}, &app))
	f.store, f.managed = newStore(s.Etcd()), app.ManagedFields
	s.Cleanup(f.store.client.CloseIdleConnections) // etcd waits for them
	return f
}

// instance is a stepgate that gates some of the namespaces.
type instance struct {
	*installed.Replica
	namespaces             []string
	ready                  time.Duration
	start, steady, highest float64 // MiB: the peak of the start, at rest, and the peak under load
	cpu, idle              float64 // cores
	ledger, writes         float64 // KiB, and writes a minute under load
	lag                    []time.Duration
	cases                  []*sampled
	failed                 map[string]int
}

// measure starts one instance for each group of namespaces, with the ledger or without, and measures them together.
func (f *fleet) measure(ctx context.Context, keeps bool, groups ...[]string) {
	var instances []*instance
	for i, namespaces := range groups {
		name := fmt.Sprintf("stepgate-%d-%d-%d", f.sets*perSet, len(groups), i)
		if keeps {
			name += "-kept" // NAME-ledger is the policy of the instance without one
		}
		instances = append(instances, f.instance(ctx, name, namespaces, len(groups) > 1, keeps))
	}
	f.rest(ctx, instances)
	load := f.load(ctx)
	f.window(ctx, load, instances)
	for _, i := range instances {
		f.sample(ctx, i)
		f.lag(ctx, i)
	}
	load.stop()
	load.seen.perWrite = f.statusWrite(ctx)
	f.print(load, instances)
	for _, i := range instances {
		f.profile(ctx, i)
		f.only(ctx, i)
		f.remove(ctx, i)
	}
}

func (f *fleet) remove(ctx context.Context, i *instance) {
	i.Kill()
	script.Must(installed.Unregister(ctx, f.Environment, i.Name))
}

// instance starts a stepgate. listed says that it watches its namespaces only, and keeps that it keeps the ledger. That is
// written before it is started again, to be measured: a start reads it.
func (f *fleet) instance(ctx context.Context, name string, namespaces []string, listed, keeps bool) *instance {
	o := installed.Options{
		Keeps: keeps, Hostname: name,
		Registration: installed.Registration{Name: name, Namespaces: namespaces},
		Args:         []string{"--profiling"}, MemoryLimit: f.options.memoryLimit,
	}
	if listed {
		for _, namespace := range namespaces {
			o.Args = append(o.Args, "--application-namespaces="+namespace)
		}
	}
	o.Barrier = f.options.barrier && !listed
	i, began := &instance{namespaces: namespaces, failed: map[string]int{}}, time.Now()
	i.Replica = script.Get(installed.StartOne(ctx, f.Environment, o))
	f.replicas = append(f.replicas, i.Replica)
	if o.Barrier {
		script.Get(installed.CreateBarrier(ctx, f.Environment, name))
	}
	f.untilReady(ctx, i, began)
	if keeps {
		f.untilWritten(ctx, i, began)
		i.Kill()
		began = time.Now()
		script.Must(i.StartAgain(ctx, f.Environment))
		f.untilReady(ctx, i, began)
	}
	i.ready, i.start = time.Since(began), script.Get(i.PeakMiB())
	for user, want := range map[string]answer{gateUser: deny, controller: hold} {
		for _, r := range f.mine(i, f.denied) {
			script.Mustf(eventually.Succeeds(ctx, func() error {
				return f.patchers[user].patch(ctx, r, want)
			}), "the webhooks of %s are called", i.Name)
		}
	}
	return i
}

func (f *fleet) untilReady(ctx context.Context, i *instance, began time.Time) {
	for err := i.Ready(ctx); err != nil; err = i.Ready(ctx) {
		if time.Since(began) > longestStart {
			script.Must(fmt.Errorf("%w: %s", err, i.Log()))
		}
		script.Must(sleep(ctx, 100*time.Millisecond))
	}
}

// untilWritten waits until the ledger of an instance has something of each ApplicationSet.
func (f *fleet) untilWritten(ctx context.Context, i *instance, began time.Time) {
	for i.written(ctx) < float64(f.sets) {
		if time.Since(began) > longestStart {
			script.Must(fmt.Errorf("the ledger is not written: %s", i.Log()))
		}
		script.Must(sleep(ctx, time.Second))
	}
}

// written counts the writes of an instance into its ledger.
func (i *instance) written(ctx context.Context) float64 {
	return script.Get(i.Metric(ctx, "stepgate_ledger_writes_total", "result", "written"))
}

// mine are the rollouts in the namespaces of an instance.
func (f *fleet) mine(i *instance, all []*rollout) []*rollout {
	return slices.DeleteFunc(slices.Clone(all), func(r *rollout) bool {
		return !slices.Contains(i.namespaces, r.namespace)
	})
}

// rest measures the instances while nothing is written.
func (f *fleet) rest(ctx context.Context, instances []*instance) {
	var before []time.Duration
	for _, i := range instances {
		before = append(before, script.Get(process.CPUTime(i.Pid())))
	}
	began := time.Now()
	script.Must(sleep(ctx, f.options.rest))
	for n, i := range instances {
		i.steady = script.Get(i.ResidentMiB())
		i.idle = cores(script.Get(process.CPUTime(i.Pid()))-before[n], time.Since(began))
		script.Must(i.ForgetPeak())
	}
}

// only fails unless an instance answers for its own namespaces and for no other: writes elsewhere are not sent to it.
func (f *fleet) only(ctx context.Context, i *instance) {
	calls := func() float64 { return script.Get(i.Metric(ctx, "stepgate_requests_total")) }
	for _, r := range f.allowed {
		before := calls()
		script.Must(f.patchers[gateUser].patch(ctx, r, allow))
		if called, mine := calls() > before, slices.Contains(i.namespaces, r.namespace); called != mine {
			script.Must(fmt.Errorf("a write in %s: %s was called: %t", r.namespace, i.Name, called))
		}
	}
}

func cores(used, wall time.Duration) float64 { return used.Seconds() / wall.Seconds() }

// sleep waits, unless ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
