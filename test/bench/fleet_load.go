// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// statusWriters is how many status writes are under way at most.
	statusWriters = 32
	// rolloutsPerDay is how often each Application is synced.
	rolloutsPerDay = 4
)

// load are the writes of an Argo CD.
type load struct {
	*fleet
	// rate is of status writes per second, and operations of operations.
	rate, operations float64
	began            time.Time
	statuses, synced atomic.Int64
	// unsynced counts the operations that came to nothing, as where stepgate could not decide in time.
	unsynced atomic.Int64
	cancel   context.CancelFunc
	running  sync.WaitGroup
	failures atomic.Pointer[error]
	// seen are the deltas of a window.
	seen windowed
}

// load starts the writes that Argo CD makes: the application controller compares each Application every
// timeout.reconciliation and some jitter, and writes then when it did. These go into etcd itself. And of some
// Applications an operation comes, and ends, by the API server.
func (f *fleet) load(ctx context.Context) *load {
	n := float64(f.sets * perSet)
	l := &load{
		fleet: f, rate: n / f.options.compared.Seconds(), operations: n * rolloutsPerDay / (24 * time.Hour).Seconds(),
		began: time.Now(),
	}
	until, cancel := context.WithCancel(ctx)
	l.cancel = cancel
	due := make(chan types.NamespacedName)
	for range statusWriters {
		l.running.Go(func() {
			for at := range due {
				l.note(ctx, l.compared(ctx, at), &l.statuses)
			}
		})
	}
	l.running.Go(func() {
		defer close(due)
		next := 0
		every(until, l.rate, func() {
			select {
			case due <- f.applications[next%len(f.applications)]:
				next++
			case <-until.Done():
			}
		})
	})
	if len(f.operated) > 0 {
		l.running.Go(func() {
			next := 0
			every(until, l.operations, func() {
				if err := l.sync(ctx, f.operated[next%len(f.operated)]); err != nil && ctx.Err() == nil {
					progress("%v", err)
					l.unsynced.Add(1)
				} else {
					l.note(ctx, err, &l.synced)
				}
				next++
			})
		})
	}
	return l
}

// every calls f at a rate per second until ctx is done. What could not be done in time is caught up with.
func every(ctx context.Context, rate float64, f func()) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	began, calls := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for ; float64(calls) < rate*time.Since(began).Seconds() && ctx.Err() == nil; calls++ {
			f()
		}
	}
}

func (l *load) note(ctx context.Context, err error, done *atomic.Int64) {
	switch {
	case err == nil:
		done.Add(1)
	case ctx.Err() == nil:
		l.failures.CompareAndSwap(nil, &err)
	}
}

// reconciled is the time of the last comparison, in JSON.
var reconciled = regexp.MustCompile(`"reconciledAt":"[^"]*"`)

// compared writes what the application controller writes when a comparison has found nothing new.
func (l *load) compared(ctx context.Context, at types.NamespacedName) error {
	now := fmt.Appendf(nil, `"reconciledAt":%q`, time.Now().UTC().Format(time.RFC3339))
	return l.store.change(ctx, keyOf("applications", at.Namespace, at.Name), func(stored []byte) []byte {
		return reconciled.ReplaceAllLiteral(stored, now)
	})
}

func (l *load) patch(ctx context.Context, at types.NamespacedName, patch []byte) error {
	return l.raw.Patch(types.MergePatchType).Namespace(at.Namespace).Resource("applications").Name(at.Name).
		Param("fieldManager", "argocd-application-controller").Body(patch).Do(ctx).Error()
}

// sync writes an operation as the ApplicationSet controller does, and takes it away again as the application controller
// does at its end. The rest of the status stays, so that the next sync is judged like this one.
func (l *load) sync(ctx context.Context, r *rollout) error {
	at := types.NamespacedName{Namespace: r.namespace, Name: r.target}
	result := l.patchers[controller].client.Patch(types.MergePatchType).Namespace(r.namespace).
		Resource("applications").Name(r.target).Body(r.unpinned).Do(ctx)
	if err := result.Error(); err != nil {
		return fmt.Errorf("sync of %s: %w", at, err)
	}
	return l.patch(ctx, at, []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":null}},"operation":null}`))
}

// stop ends the writes.
func (l *load) stop() {
	l.cancel()
	l.running.Wait()
	if err := l.failures.Load(); err != nil {
		script.Must(*err)
	}
}

// windowed is how much was done and used in a window.
type windowed struct {
	took                   time.Duration
	statuses, synced       int64
	server, etcd, this     float64 // cores
	serverMiB, etcdMiB     float64
	statusRate, syncedRate float64
	// perWrite is what a status write by the API server costs it.
	perWrite time.Duration
}

// window measures the instances under load, and nothing else.
func (f *fleet) window(ctx context.Context, l *load, instances []*instance) {
	pids := []int{f.server, f.etcd, os.Getpid()}
	for _, i := range instances {
		pids = append(pids, i.Pid())
	}
	cpu := func() (all []time.Duration) {
		for _, pid := range pids {
			all = append(all, script.Get(process.CPUTime(pid)))
		}
		return all
	}
	written := func() (all []float64) {
		for _, i := range instances {
			all = append(all, i.written(ctx))
		}
		return all
	}
	writes := written()
	before, statuses, synced, began := cpu(), l.statuses.Load(), l.synced.Load(), time.Now()
	script.Must(sleep(ctx, f.options.window))
	after, took := cpu(), time.Since(began)
	used := func(n int) float64 { return cores(after[n]-before[n], took) }
	for n, now := range written() {
		instances[n].writes = (now - writes[n]) / took.Minutes()
		instances[n].ledger = script.Get(instances[n].Metric(ctx, "stepgate_ledger_bytes")) / 1024
	}
	w := windowed{
		took: took, statuses: l.statuses.Load() - statuses, synced: l.synced.Load() - synced, server: used(0), etcd: used(1),
		this: used(2),
	}
	w.statusRate, w.syncedRate = float64(w.statuses)/took.Seconds(), float64(w.synced)/took.Seconds()
	w.serverMiB, w.etcdMiB = script.Get(process.ResidentMiB(f.server)), script.Get(process.ResidentMiB(f.etcd))
	l.seen = w
	for n, i := range instances {
		i.cpu, i.highest = used(3+n), script.Get(i.PeakMiB())
	}
}

// statusWrite is what a status write by the API server costs it, in time of a core.
func (f *fleet) statusWrite(ctx context.Context) time.Duration {
	times := min(200, 10*f.options.samples)
	before := script.Get(process.CPUTime(f.server))
	for i := range times {
		at := f.applications[i%len(f.applications)]
		patch := fmt.Appendf(nil, `{"status":{"reconciledAt":%q}}`,
			time.Now().Add(time.Duration(i)*time.Second).UTC().Format(time.RFC3339))
		script.Must((&load{fleet: f}).patch(ctx, at, patch))
	}
	return (script.Get(process.CPUTime(f.server)) - before) / time.Duration(times)
}
