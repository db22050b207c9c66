// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/e2e/observer"
)

// watcher keeps what a watch of the Applications in Argo CD's namespace shows.
type watcher struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	seen    []observer.Observation
	latest  map[string]*argo.Application
	problem error
}

func watchApplications(ctx context.Context, config *rest.Config) (*watcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	events, err := observer.Watch(ctx, config, &argo.ApplicationList{}, cluster.ArgoNamespace)
	if err != nil {
		cancel()
		return nil, err
	}
	w := &watcher{cancel: cancel, latest: map[string]*argo.Application{}}
	go func() {
		for event := range events.ResultChan() {
			w.keep(event)
		}
		w.fail(errors.New("the watch of Applications ended"))
	}()
	return w, nil
}

func (w *watcher) stop() { w.cancel() }

func (w *watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problem = errors.Join(w.problem, err)
}

func (w *watcher) keep(event watch.Event) {
	app, ok := event.Object.(*argo.Application)
	if !ok {
		w.fail(errors.New("the watch of Applications failed"))
		return
	}
	o, err := observer.Observe(app, event.Type == watch.Deleted, time.Now())
	if err != nil {
		w.fail(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.latest[app.Name] = append(w.seen, o), app
}

// observations are all so far, and an error if some are missing.
func (w *watcher) observations() ([]observer.Observation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[:len(w.seen):len(w.seen)], w.problem
}

// app is an Application as last seen, or nil.
func (w *watcher) app(name string) *argo.Application {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latest[name]
}
