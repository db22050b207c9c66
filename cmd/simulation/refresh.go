// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"reflect"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// level is Argo CD's CompareWith.
type level int

const (
	recent       level = 1 // with the revisions of the last comparison
	latest       level = 2 // with the latest ones, which the repo-server may remember for 3 minutes
	forceResolve level = 3 // with the latest ones, asked from git
)

// refsExpire is the repo-server's --revision-cache-expiration.
const refsExpire = 3 * time.Minute

// appController models the application controller: the refresh queue in this file, the comparison in compare.go and the
// operation queue in operation.go, after controller/appcontroller.go of v3.5.7. Each Application has a worker of its
// own for both.
type appController struct {
	w       *world
	cache   *watch
	workers map[string]*worker
	// life counts its restarts; each loses what was under way.
	life int
}

type worker struct {
	refreshing, refreshAgain, refreshQueued bool
	requested                               level
	operating, operateQueued, operateAgain  bool
	// sync counts the syncs that were terminated.
	sync    int
	polling bool
}

func newAppController(w *world) *appController {
	c := &appController{w: w, cache: w.api.watch("application"), workers: map[string]*worker{}}
	c.cache.onApp = func(_, now *argo.Application) {
		if now == nil {
			return
		}
		c.refresh(now.Name, 0)
		if m := w.members[now.Name]; m.sources[0].dry != nil && m.sources[0].dryDiffers(&now.Spec) {
			c.hydrate(m, &now.Spec)
		}
	}
	return c
}

func (c *appController) worker(name string) *worker {
	x := c.workers[name]
	if x == nil {
		x = &worker{}
		c.workers[name] = x
	}
	return x
}

// after schedules what is lost if the controller restarts meanwhile.
func (c *appController) after(d time.Duration, do func()) {
	life := c.life
	c.w.after(d, func() {
		if c.life == life {
			do()
		}
	})
}

// restart loses what is under way and all requests, and looks at every Application again.
func (c *appController) restart() {
	c.life++
	c.workers = map[string]*worker{}
	c.after(3*time.Second, func() {
		for _, name := range c.w.names {
			c.refresh(name, 0)
		}
	})
}

// liveChanged is an event of the cluster.
func (c *appController) liveChanged(name string) {
	c.after(c.w.delay(20*time.Millisecond), func() { c.refresh(name, recent) })
}

// refresh is requestAppRefresh: a level of 0 only makes somebody look whether there is anything to do.
func (c *appController) refresh(name string, l level) {
	x := c.worker(name)
	x.requested = max(x.requested, l)
	switch {
	case x.refreshing:
		x.refreshAgain = true
	case !x.refreshQueued:
		x.refreshQueued = true
		c.after(c.w.delay(2*time.Millisecond), func() { c.processRefresh(name) })
	}
}

// processRefresh is processAppRefreshQueueItem.
func (c *appController) processRefresh(name string) {
	x := c.worker(name)
	x.refreshQueued, x.refreshing = false, true
	app := c.cache.apps[name]
	if app == nil {
		c.refreshed(name)
		return
	}
	l := c.needed(app)
	if l == 0 {
		c.refreshed(name)
		return
	}
	m := c.w.members[name]
	began := c.w.now
	wait := c.w.delay(10*time.Millisecond) + m.slowCompare + c.w.setup(name).Compares
	m.slowCompare = 0
	c.after(wait, func() {
		status, resolved := c.compare(app, l, began)
		c.autoSync(app, &status)
		c.after(c.w.delay(20*time.Millisecond), func() {
			c.persist(app, status, resolved)
			c.refreshed(name)
		})
	})
}

// refreshed ends the work on one item; the operation queue comes after it.
func (c *appController) refreshed(name string) {
	x := c.worker(name)
	x.refreshing = false
	c.operate(name)
	if x.refreshAgain {
		x.refreshAgain = false
		c.refresh(name, 0)
	}
	c.poll(name)
}

// poll looks again when the comparison expires.
func (c *appController) poll(name string) {
	x, app := c.worker(name), c.w.api.apps[name]
	if x.polling || app == nil || c.w.scenario.Poll == 0 {
		return
	}
	x.polling = true
	c.after(c.expiry(app)-c.w.now+time.Second, func() {
		x.polling = false
		c.refresh(name, 0)
	})
}

func (c *appController) expiry(app *argo.Application) time.Duration {
	if app.Status.ReconciledAt == nil {
		return c.w.now
	}
	spread := time.Duration(len(app.Name)) * 7 * time.Second % time.Minute // stands for the jitter
	return max(app.Status.ReconciledAt.Sub(epoch)+c.w.scenario.Poll+spread, c.w.now+time.Second)
}

// needed is needRefreshAppStatus.
func (c *appController) needed(app *argo.Application) level {
	compared := &app.Status.Sync.ComparedTo
	_, annotated := app.Annotations[argo.AnnotationKeyRefresh]
	switch {
	case annotated, !sameSources(&app.Spec, compared):
		return forceResolve
	case app.Status.ReconciledAt == nil, c.w.scenario.Poll > 0 &&
		app.Status.ReconciledAt.Add(c.w.scenario.Poll).Before(epoch.Add(c.w.now)):
		return latest
	case !reflect.DeepEqual(app.Spec.Destination, compared.Destination) ||
		!app.Spec.IgnoreDifferences.Equals(compared.IgnoreDifferences):
		return latest
	case app.HasChangedManagedNamespaceMetadata() &&
		app.Status.ReconciledAt.Add(time.Second).Before(epoch.Add(c.w.now+c.w.skew(app.Name))):
		return latest // Argo CD goes round and round with it; here at most once a second
	}
	x := c.worker(app.Name)
	l := x.requested
	x.requested = 0
	return l
}

func sameSources(spec *argo.ApplicationSpec, compared *argo.ComparedTo) bool {
	if spec.HasMultipleSources() {
		return spec.Sources.Equals(compared.Sources)
	}
	source := spec.GetSource()
	return source.Equals(&compared.Source)
}
