package simulation

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// setController models the ApplicationSet controller around upstream's progressivesync.Manager: Reconcile, createOrUpdateInCluster,
// deleteInCluster and the event predicates of applicationset/controllers/applicationset_controller.go, v3.5.7.
type setController struct {
	w       *world
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
	// polls says that it comes back again and again, because of the barrier or an Application that is not valid, for as long as nothing changes.
	polls bool
}

func newSetController(w *world) *setController {
	c := &setController{w: w, cache: w.api.watch("applicationset")}
	c.manager = newManager(c)
	c.cache.onApp = c.appEvent
	c.cache.onSet = c.setEvent
	return c
}

// wake adds the ApplicationSet to the work queue.
func (c *setController) wake() {
	switch {
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
	set := c.cache.set
	if set == nil {
		return false
	}
	desired := slices.Clone(c.w.api.wanted[set.Generation])
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
	for _, app := range c.manager.sync(set, syncs, valid) {
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
		if app.DeletionTimestamp == nil && !slices.ContainsFunc(desired, func(d argo.Application) bool { return d.Name == name }) {
			c.w.logf("the ApplicationSet controller deletes %s", name)
			c.w.app.delete(name)
		}
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

// progress records how far the Applications are, and returns which of them may be synced.
func (c *setController) progress(set argo.ApplicationSet, current, desired []argo.Application) (syncs map[string]bool, err error) {
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

// createOrUpdate is CreateOrUpdate of applicationset/utils: one merge patch, made against the cache and without a
// resourceVersion.
func (c *setController) createOrUpdate(want *argo.Application) error {
	found := c.cache.apps[want.Name]
	if found == nil {
		return c.create(want)
	}
	m := c.w.members[want.Name]
	spec := !reflect.DeepEqual(found.Spec, m.keepsImage(want.Spec, &found.Spec))
	adopts := found.OwnerReferences[0].UID != want.OwnerReferences[0].UID
	labels := !maps.Equal(found.Labels, want.Labels)
	operation := want.Operation != nil && !reflect.DeepEqual(found.Operation, want.Operation)
	if !spec && !labels && !operation && !adopts {
		return nil
	}
	if spec || adopts {
		c.waitToWrite(want.Name)
	}
	live := c.w.api.apps[want.Name]
	if live == nil {
		delete(c.cache.apps, want.Name) // NotFound evicts
		return errors.New("NotFound")
	}
	app := *live
	if spec {
		app.Spec = m.keepsImage(want.Spec, &live.Spec)
	}
	if labels {
		app.Labels, m.relabelled = want.Labels, false
	}
	if adopts {
		app.OwnerReferences = want.OwnerReferences
	}
	if operation {
		app.Operation = merged(live.Operation, found.Operation, want.Operation)
	}
	if spec || labels {
		app.ManagedFields = c.w.written(want.Name)
	}
	return c.write(&app)
}

// written notes that the ApplicationSet controller writes a spec, and returns what the API server keeps of that.
func (w *world) written(name string) []metav1.ManagedFieldsEntry {
	w.members[name].specified = w.now
	return managedSince(w.stampAt(w.now))
}

// managedSince are the managedFields of an Application whose spec was written at a time. That a write of an operation renews the time is not modelled.
func managedSince(at metav1.Time) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{Manager: "argocd-applicationset-controller", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
}

// merged is what a merge patch leaves of an operation: fields that the cache did not show stay.
func merged(live, cached, want *argo.Operation) *argo.Operation {
	if live == nil || cached != nil || live.Sync == nil {
		return want
	}
	both, sync := *want, *want.Sync
	sync.Revision, sync.Revisions, sync.Source, sync.Sources = live.Sync.Revision, live.Sync.Revisions, live.Sync.Source, live.Sync.Sources
	both.Sync = &sync
	return &both
}

// waitToWrite waits as long as the next write of a spec takes.
func (c *setController) waitToWrite(name string) {
	m := c.w.members[name]
	wait := m.slowWrite
	if m.slowWrite = 0; wait > 0 {
		c.w.logf("the write of %s by the ApplicationSet controller takes %s", name, wait)
		c.w.advance(wait)
	}
}

func (c *setController) create(want *argo.Application) error {
	c.waitToWrite(want.Name)
	if c.w.api.apps[want.Name] != nil {
		return errors.New("AlreadyExists")
	}
	app := *want
	app.UID = types.UID(want.Name + "-uid-" + c.w.api.next())
	app.ManagedFields = c.w.written(want.Name)
	c.w.members[want.Name].settled = c.w.now
	return c.write(&app)
}

func (c *setController) write(app *argo.Application) error {
	if stepOf(c.w.api.apps[app.Name]) != stepOf(app) {
		c.w.members[app.Name].settled = c.w.now
	}
	m, before := c.w.members[app.Name], c.w.api.apps[app.Name]
	if err := c.w.api.operationWrite(app, applicationSetAccount); err != nil {
		return err
	}
	answer := c.w.api.apps[app.Name]
	if m.slowAnswer > 0 && answer == before {
		// The API server answers a write that changes nothing with the object as it was read, before the webhooks were asked.
		wait := m.slowAnswer
		m.slowAnswer = 0
		c.w.logf("the API server answers a write of %s that changes nothing after %s", app.Name, wait)
		c.w.advance(wait)
	}
	if c.w.traits.writesBack {
		c.cache.put(answer)
	}
	return nil
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
	if !reflect.DeepEqual(old.Spec, now.Spec) || !maps.Equal(old.Annotations, now.Annotations) || !maps.Equal(old.Labels, now.Labels) ||
		old.Status.Health.Status != now.Status.Health.Status || old.Status.Sync.Status != now.Status.Sync.Status {
		return true
	}
	a, b := old.Status.OperationState, now.Status.OperationState
	return a != nil && b != nil && (a.Phase != b.Phase || a.StartedAt != b.StartedAt)
}

// setEvent is getApplicationSetOwnsHandler. An OutOfSync Application whose operation runs makes 3.2 go round and round; here it
// does that once a second.
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
