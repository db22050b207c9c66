// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// setController models the ApplicationSet controller around upstream's progressivesync.Manager: Reconcile,
// createOrUpdateInCluster, deleteInCluster and the event predicates of
// applicationset/controllers/applicationset_controller.go, v3.5.7.
type setController struct {
	w *world
	// of is its ApplicationSet: the controller has a worker for each.
	of      *family
	cache   *watch
	manager *manager
	busy    bool
	dirty   bool
	queued  bool
	// failures counts for the exponential back-off.
	failures int
	passed   time.Duration
	// wakesAt is when the work queue adds the ApplicationSet by itself; zero when it does not.
	wakesAt time.Duration
	// polls says that it comes back again and again, because of the barrier or an Application that is not valid, for as
	// long as nothing changes.
	polls bool
}

func newSetController(w *world, f *family) *setController {
	c := &setController{w: w, of: f, cache: w.api.watch("applicationset")}
	c.cache.of = f
	c.manager = newManager(c)
	c.cache.onApp = c.appEvent
	c.cache.onSet = c.setEvent
	return c
}

// set is the ApplicationSet as its cache has it; nil if there is none.
func (c *setController) set() *argo.ApplicationSet { return c.cache.sets[c.of.name] }

// wake adds the ApplicationSet to the work queue.
func (c *setController) wake() {
	switch {
	case c.w.parent() != "": // there is none
	case c.busy:
		c.dirty = true
	case !c.queued:
		c.queued = true
		c.w.after(c.w.delay(2*time.Millisecond), c.reconcile)
	}
}

// wakeLater is a delayed addition to the work queue, which keeps the earliest.
func (c *setController) wakeLater(d time.Duration) {
	at := c.w.now + d
	if c.wakesAt > 0 && c.wakesAt <= at {
		return
	}
	c.wakesAt = at
	c.w.after(d, func() {
		if c.wakesAt == at {
			c.wakesAt = 0
			c.wake()
		}
	})
}

func (c *setController) reconcile() {
	if c.busy {
		c.queued, c.dirty = false, true
		return
	}
	c.queued, c.busy, c.dirty, c.polls = false, true, false, false
	failed := c.pass()
	c.busy, c.passed = false, c.w.now
	switch {
	case failed:
		c.wakeLater(c.w.traits.retry(c.failures))
		c.failures++
	default:
		c.failures = 0
		if c.w.scenario.Requeue > 0 {
			c.wakeLater(c.w.scenario.Requeue)
		}
	}
	if c.dirty {
		c.wake()
	}
}

// pass is one Reconcile. It takes time: everything else goes on meanwhile.
func (c *setController) pass() (failed bool) {
	set := c.set()
	if set == nil {
		return false
	}
	desired := slices.Clone(c.of.wanted[set.Generation])
	if c.w.traits.legacy {
		c.recordResources()
		set = c.set()
	}
	current := c.current()
	// The manager gets the ApplicationSet by value: what it records in this pass is not seen below, as in Reconcile.
	syncs, err := c.progress(*set, current, desired)
	if err != nil {
		return true
	}
	valid, failing := c.valid(desired)
	if failing != "" {
		c.report(failing)
	}
	problems := map[string]error{}
	if len(c.w.scenario.waves()) == 0 {
		valid = c.manager.sync(set, syncs, valid)
	}
	for _, app := range valid {
		if c.w.traits.pins && app.Operation != nil {
			pin(set, &app)
		}
		c.w.advance(c.w.delay(5 * time.Millisecond))
		if err := c.createOrUpdate(&app); err != nil {
			problems[app.Name] = err
		}
	}
	if len(problems) > 0 {
		c.report(problems[slices.Min(slices.Collect(maps.Keys(problems)))].Error())
		return true // deleteInCluster and the rest are skipped
	}
	for _, name := range slices.Sorted(maps.Keys(c.cache.apps)) {
		app := c.cache.apps[name]
		if app.DeletionTimestamp == nil && !slices.ContainsFunc(desired, func(d argo.Application) bool {
			return d.Name == name
		}) {
			c.w.logf("the ApplicationSet controller deletes %s", name)
			c.w.app.delete(name)
		}
	}
	if !c.w.traits.legacy {
		c.recordResources()
	}
	c.wakeForBarrier(set)
	if failing == "" {
		c.report("")
	} else {
		c.polls = true
		c.wakeLater(requeueOnValidationError)
	}
	return false
}

// recordResources is updateResourcesStatus: 3.2 does it at the beginning of a pass, later versions at the end of one in
// which all writes have succeeded. The API server makes nothing of a write that changes nothing. The controller goes on
// with what it has written.
func (c *setController) recordResources() {
	var resources []argo.ResourceStatus
	for _, app := range c.current() {
		resources = append(resources, argo.ResourceStatus{
			Name: app.Name, Namespace: app.Namespace, Status: app.Status.Sync.Status,
			Health: &argo.HealthStatus{Status: app.Status.Health.Status},
		})
	}
	if !reflect.DeepEqual(c.of.live.Status.Resources, resources) {
		set := *c.of.live
		set.Status.Resources, set.Status.ResourcesCount = resources, int64(len(resources))
		c.w.api.writeSet(&set)
		c.cache.sets[c.of.name] = &set
	}
}

// progress records how far the Applications are, and returns which of them may be synced.
func (c *setController) progress(
	set argo.ApplicationSet, current, desired []argo.Application,
) (syncs map[string]bool, err error) {
	set.Spec.IgnoreApplicationDifferences = c.w.ignoredDifferences()
	if len(c.w.scenario.waves()) > 0 {
		return nil, nil
	}
	if c.w.traits.legacy {
		return c.manager.legacy(&set, current, desired)
	}
	syncs, err = c.manager.perform(set, current, desired)
	if errors.Is(err, errBarred) {
		return nil, nil
	}
	return syncs, err
}

// pin names in an operation the revisions that the ApplicationSet records, as the controller does from 3.6 on.
func pin(set *argo.ApplicationSet, app *argo.Application) {
	for _, s := range set.Status.ApplicationStatus {
		if s.Application == app.Name && len(s.TargetRevisions) > 1 {
			app.Operation.Sync.Revisions = s.TargetRevisions
		} else if s.Application == app.Name && len(s.TargetRevisions) == 1 {
			app.Operation.Sync.Revision = s.TargetRevisions[0]
		}
	}
}

// current are the Applications as the cache has them, by name.
func (c *setController) current() []argo.Application {
	var all []argo.Application
	for _, name := range slices.Sorted(maps.Keys(c.cache.apps)) {
		all = append(all, *c.cache.apps[name])
	}
	return all
}

// appEvent is getApplicationOwnsHandler.
func (c *setController) appEvent(old, now *argo.Application) {
	if old == nil {
		return // a creation wakes nobody
	}
	if now == nil || changed(old, now) {
		c.wake()
	}
}

// changed is shouldRequeueForApplication.
func changed(old, now *argo.Application) bool {
	if !reflect.DeepEqual(old.Spec, now.Spec) || !maps.Equal(old.Annotations, now.Annotations) ||
		!maps.Equal(old.Labels, now.Labels) ||
		old.Status.Health.Status != now.Status.Health.Status || old.Status.Sync.Status != now.Status.Sync.Status {
		return true
	}
	a, b := old.Status.OperationState, now.Status.OperationState
	return a != nil && b != nil && (a.Phase != b.Phase || a.StartedAt != b.StartedAt)
}

// setEvent is getApplicationSetOwnsHandler. An OutOfSync Application whose operation runs makes 3.2 go round and round;
// here it does that once a second.
func (c *setController) setEvent(old, now *argo.ApplicationSet) {
	switch {
	case old == nil || old.Generation != now.Generation:
		c.wake()
	case reflect.DeepEqual(old.Status.ApplicationStatus, now.Status.ApplicationStatus):
	case c.w.traits.legacy:
		c.wakeLater(time.Second)
	default:
		c.wake()
	}
}
