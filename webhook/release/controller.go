// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

const (
	// settle is how long changes of an ApplicationSet and its Applications are collected before they are looked at.
	settle = 100 * time.Millisecond
	// share is how many times as long as a reconciliation takes the next one of the same ApplicationSet waits at least:
	// a large one takes no more than a fifth of a core.
	share = 4
	// workers are how many ApplicationSets are looked at side by side: a large one holds no other up.
	workers = 4
)

// Controller reconciles the ApplicationSets that change.
type Controller struct {
	reconcile func(set types.NamespacedName) (again time.Duration)
	queue     workqueue.TypedDelayingInterface[types.NamespacedName]

	mu sync.Mutex
	// slow is how long the last reconciliation took of ApplicationSets for which that matters.
	slow map[types.NamespacedName]time.Duration
}

// NewController returns a Controller that calls Releaser.Reconcile.
func NewController(reconcile func(set types.NamespacedName) (again time.Duration)) *Controller {
	return &Controller{
		reconcile: reconcile, queue: workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[types.NamespacedName]{Name: "release"},
		), slow: map[types.NamespacedName]time.Duration{},
	}
}

// Changed tells that an ApplicationSet, or one of its Applications, has changed. It never waits.
func (r *Controller) Changed(set types.NamespacedName) { r.after(set, settle) }

// after reconciles an ApplicationSet after a time, or later if that is slow.
func (r *Controller) after(set types.NamespacedName, wait time.Duration) {
	r.mu.Lock()
	took := r.slow[set]
	r.mu.Unlock()
	r.queue.AddAfter(set, max(wait, share*took))
}

// took remembers how long a reconciliation took.
func (r *Controller) took(set types.NamespacedName, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.slow, set)
	if share*took > settle {
		r.slow[set] = took
	}
}

// Run reconciles the ApplicationSets that change until ctx is done, several at once, and each once at a time.
func (r *Controller) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, r.queue.ShutDown)()
	var running sync.WaitGroup
	for range workers {
		running.Go(r.work)
	}
	running.Wait()
}

// work reconciles one after the other until the queue is shut down.
func (r *Controller) work() {
	for {
		set, ended := r.queue.Get()
		if ended {
			return
		}
		start := time.Now()
		again := r.reconcile(set)
		r.took(set, time.Since(start))
		r.queue.Done(set)
		if again > 0 {
			r.after(set, again)
		}
	}
}
