// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/test/e2e/observer"
)

// recorder keeps everything that a watch of all Applications shows. A gap in the watch is an error of the whole run:
// nobody can judge an Application that was not seen.
type recorder struct {
	mu      sync.Mutex
	history map[string][]observer.Observation
	latest  map[string]*argo.Application
	// waiting is since when an operation is set that the application controller has not taken up.
	waiting map[string]time.Time
	// asked is since when a refresh is asked for that the application controller has not done.
	asked  map[string]time.Time
	clocks map[string][]clockReading
	// expected are closed when an operation appears on an Application.
	expected map[string]chan struct{}
	// told are told every update of an Application: how it was, and how it is.
	told    map[string][]func(before, now *argo.Application)
	problem error
}

func record(ctx context.Context, config *rest.Config) (*recorder, error) {
	w, err := observer.Watch(ctx, config, &argo.ApplicationList{}, metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	r := &recorder{
		history: map[string][]observer.Observation{}, latest: map[string]*argo.Application{},
		waiting: map[string]time.Time{}, asked: map[string]time.Time{}, expected: map[string]chan struct{}{},
		clocks: map[string][]clockReading{}, told: map[string][]func(before, now *argo.Application){},
	}
	go r.run(ctx, w)
	return r, nil
}

func (r *recorder) run(ctx context.Context, w watch.Interface) {
	defer w.Stop()
	for event := range w.ResultChan() {
		app, ok := event.Object.(*argo.Application)
		if !ok {
			r.fail(fmt.Errorf("the watch of Applications ended: %v", event.Object))
			return
		}
		r.keep(app, event.Type == watch.Deleted)
	}
	if ctx.Err() == nil {
		r.fail(errors.New("the watch of Applications ended"))
	}
}

func (r *recorder) keep(app *argo.Application, deleted bool) {
	seen, err := observer.Observe(app, deleted, time.Now())
	if err != nil {
		r.fail(err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history[app.Namespace] = append(r.history[app.Namespace], seen)
	key := app.Namespace + "/" + app.Name
	if before := r.latest[key]; seen.OperationSet && (before == nil || before.Operation == nil) && r.expected[key] != nil {
		close(r.expected[key])
		delete(r.expected, key)
	}
	if before := r.latest[key]; before != nil && !deleted {
		for _, tell := range r.told[key] {
			tell(before, app)
		}
	}
	r.readClock(key, app, seen.At)
	r.latest[key] = app
	if deleted {
		delete(r.latest, key)
	}
	if !seen.OperationSet || seen.Phase == "Running" {
		delete(r.waiting, key)
	} else if r.waiting[key].IsZero() {
		r.waiting[key] = seen.At
	}
	if app.Annotations[argo.AnnotationKeyRefresh] == "" {
		delete(r.asked, key)
	} else if r.asked[key].IsZero() {
		r.asked[key] = seen.At
	}
}

// overlooked says that an operation has been set for so long that the application controller must have overlooked it,
// or that a refresh has been asked for so long.
func (r *recorder) overlooked(namespace, name string) (operation, refresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := namespace + "/" + name
	return lastsFor(r.waiting[key], overlookedAfter), lastsFor(r.asked[key], refreshOverlookedAfter)
}

// clockReading is by how much the clock that wrote a reconciledAt was ahead of ours, less the time until that was seen.
type clockReading struct {
	at    time.Time
	ahead time.Duration
}

// readClock looks at a new reconciledAt.
func (r *recorder) readClock(key string, app *argo.Application, at time.Time) {
	before, now := r.latest[key], app.Status.ReconciledAt
	if now == nil || before == nil || now.Equal(before.Status.ReconciledAt) {
		return
	}
	r.clocks[key] = append(r.clocks[key], clockReading{at, now.Sub(at)})
}

// clock is by how much the clocks that wrote the times of an Application until a moment were ahead of ours, each at
// least. After that, the application controller may run with other clocks.
func (r *recorder) clock(namespace, name string, until time.Time) (ahead []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, read := range r.clocks[namespace+"/"+name] {
		if !read.at.After(until) {
			ahead = append(ahead, read.ahead)
		}
	}
	return ahead
}

func lastsFor(since time.Time, limit time.Duration) bool {
	return !since.IsZero() && time.Since(since) > limit
}

// nextStart is closed when the next operation appears on an Application.
func (r *recorder) nextStart(namespace, name string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := namespace + "/" + name
	if r.expected[key] == nil {
		r.expected[key] = make(chan struct{})
	}
	return r.expected[key]
}

// lost says that observations are missing, and why; nil if none are.
func (r *recorder) lost() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problem
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem = err
}

// tell has every update of an Application told from now on.
func (r *recorder) tell(namespace, name string, update func(before, now *argo.Application)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := namespace + "/" + name
	r.told[key] = append(r.told[key], update)
}

// app is the Application as last seen, or nil.
func (r *recorder) app(namespace, name string) *argo.Application {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest[namespace+"/"+name]
}

// seen are the observations of some Applications of a namespace.
func (r *recorder) seen(namespace string, names map[string]bool) ([]observer.Observation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []observer.Observation
	for _, o := range r.history[namespace] {
		if names[o.Name] {
			found = append(found, o)
		}
	}
	return found, r.problem
}
