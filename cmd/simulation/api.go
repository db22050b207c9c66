// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"maps"
	"reflect"
	"strconv"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// api is the API server. What it holds is never changed, only replaced, so that watches and caches may share it.
type api struct {
	w       *world
	apps    map[string]*argo.Application
	version int
	watches []*watch
	// changed is when something was last written that is more than the time of a comparison or a request for one.
	changed time.Duration
}

func newAPI(w *world) *api {
	return &api{w: w, apps: map[string]*argo.Application{}}
}

func (a *api) next() string {
	a.version++
	return strconv.Itoa(a.version)
}

// write stores an Application and tells the watches.
func (a *api) write(app *argo.Application) {
	a.changed = a.w.now
	a.touch(app)
}

// touch is a write that changes nothing that matters to the end of a history.
func (a *api) touch(app *argo.Application) {
	app.ResourceVersion = a.next()
	a.apps[app.Name] = app
	for _, x := range a.watches {
		x.push(delivery{app: app})
	}
}

// edit replaces an Application by a copy that change has changed. It may replace parts of it, and must not change their
// insides.
func (a *api) edit(name string, change func(*argo.Application)) bool {
	old := a.apps[name]
	if old == nil {
		return false
	}
	app := *old
	change(&app)
	if old.Status.ReconciledAt != app.Status.ReconciledAt || !maps.Equal(old.Annotations, app.Annotations) {
		if sameStatus(&old.Status, &app.Status) && old.Status.OperationState == app.Status.OperationState {
			a.touch(&app)
			return true
		}
	}
	a.w.members[name].written = a.w.now
	a.write(&app)
	return true
}

func (a *api) remove(name string) {
	a.changed = a.w.now
	if app := a.apps[name]; app != nil {
		delete(a.apps, name)
		for _, x := range a.watches {
			x.push(delivery{gone: app})
		}
	}
}

func (a *api) writeSet(set *argo.ApplicationSet) {
	f := a.w.family(set.Name)
	if f.live == nil || f.live.Generation != set.Generation {
		a.changed = a.w.now // statuses alone may go round for ever
	}
	set.ResourceVersion = a.next()
	f.live = set
	for _, x := range a.watches {
		x.push(delivery{set: set})
	}
}

// operationWrite is a write of an Application whose operation may be new: the API server asks the gate. It returns the
// error with which it denies the write.
func (a *api) operationWrite(app *argo.Application, who string) error {
	old := a.apps[app.Name]
	m := a.w.members[app.Name]
	if app.Operation == nil || old != nil && reflect.DeepEqual(old.Operation, app.Operation) {
		m.written = a.w.now
		a.write(app)
		return nil
	}
	if a.w.now >= a.w.outageUntil {
		app = a.w.gate.Mutate(Write{Old: old, New: app, By: who})
	}
	if app.Operation == nil || old != nil && reflect.DeepEqual(old.Operation, app.Operation) {
		a.w.logf("%s asks for a sync of %s: held", short(who), app.Name)
		a.w.refusals++
		if again := app.Operation == nil && who == applicationAccount && reflect.DeepEqual(old, app); again {
			return nil // Argo CD asks at every comparison, and the API server stores nothing
		}
		if m.slowAnswer == 0 || !unchanged(old, app) {
			a.write(app)
		}
		return nil
	}
	v := a.w.gate.Decide(Write{Old: old, New: app, By: who})
	a.w.logf("%s asks for a sync of %s%s: %s", short(who), app.Name, pinnedTo(app.Operation), v)
	if !v.Allowed {
		a.w.refusals++
		m.truth.refused, m.truth.refusedWrite = v, Write{Old: old, New: app, By: who}
		return errors.New(`admission webhook "operation.stepgate.io" denied the request: ` + v.Message)
	}
	if !isFull(app.Operation) {
		a.write(app)
		return nil
	}
	m.truth.latest = admitting{
		admitted: a.w.now, verdict: v, admittedStep: a.w.admittedStep(m, app), seen: sight{
			target: old, spec: app.Spec, apps: maps.Clone(a.apps),
		},
		resolvedAt: maps.Clone(m.resolvedAt), orphan: a.orphaned(app),
		back: old != nil && !app.Operation.InitiatedBy.Automated && !deploysCompared(app.Operation.Sync, &old.Status),
	}
	if old != nil {
		m.truth.latest.admittedStep = min(a.w.admittedStep(m, app), a.w.admittedStep(m, old))
	}
	o := a.w.sought(m, old, app)
	a.w.asks(m, o.content, o.revisions)
	a.w.admitted(m, old, app)
	a.w.admittedAfter(m, old, app)
	a.w.startsDue(m)
	a.w.countSlots(m, v)
	a.write(app)
	return nil
}

// orphaned reports whether an Application has an owner that is gone.
func (a *api) orphaned(app *argo.Application) bool {
	return a.w.ownerOf(app) != a.w.members[app.Name].family.uid
}

// admittedStep is the step of a state of an Application, but for labels that users have written.
func (*world) admittedStep(m *member, app *argo.Application) int {
	if m.relabelled {
		return m.generated
	}
	return stepOf(app)
}

// unchanged reports whether a write of the ApplicationSet controller changes nothing beside the operation.
func unchanged(old, app *argo.Application) bool {
	return old != nil && reflect.DeepEqual(old.Spec, app.Spec) && maps.Equal(old.Labels, app.Labels)
}

// deploysCompared reports whether an operation names what the Application was compared with.
func deploysCompared(sync *argo.SyncOperation, status *argo.ApplicationStatus) bool {
	if sync.Source != nil {
		return sync.Revision == status.Sync.Revision && sync.Source.Equals(&status.Sync.ComparedTo.Source)
	}
	return reflect.DeepEqual(sync.Revisions, status.Sync.Revisions) && sync.Sources.Equals(status.Sync.ComparedTo.Sources)
}

// annotate sets or removes an annotation.
func annotated(app *argo.Application, key, value string) {
	app.Annotations = maps.Clone(app.Annotations)
	if value == "" {
		delete(app.Annotations, key)
		return
	}
	if app.Annotations == nil {
		app.Annotations = map[string]string{}
	}
	app.Annotations[key] = value
}

// delivery is what a watch delivers: one of the three.
type delivery struct {
	app, gone *argo.Application
	set       *argo.ApplicationSet
}

// family is the one that it is about.
func (d delivery) family(w *world) *family {
	switch {
	case d.set != nil:
		return w.family(d.set.Name)
	case d.gone != nil:
		return w.members[d.gone.Name].family
	}
	return w.members[d.app.Name].family
}

// watch is an informer: a cache that lags behind the API server, and handlers that are told of its changes.
type watch struct {
	w    *world
	who  string
	last time.Duration
	apps map[string]*argo.Application
	sets map[string]*argo.ApplicationSet
	// of is the only family of which it delivers anything; nil if it delivers all.
	of    *family
	onApp func(old, now *argo.Application)
	onSet func(old, now *argo.ApplicationSet)
}

func (a *api) watch(who string) *watch {
	x := &watch{w: a.w, who: who, apps: map[string]*argo.Application{}, sets: map[string]*argo.ApplicationSet{}}
	a.watches = append(a.watches, x)
	return x
}

func (x *watch) push(d delivery) {
	if x.of != nil && x.of != d.family(x.w) {
		return
	}
	at := max(x.last, x.w.now+x.w.delay(5*time.Millisecond)+x.w.lags[x.who])
	x.w.lags[x.who] = 0
	x.last = at
	x.w.after(at-x.w.now, func() { x.deliver(d) })
}

func (x *watch) deliver(d delivery) {
	switch {
	case d.set != nil:
		old := x.sets[d.set.Name]
		x.sets[d.set.Name] = d.set
		if x.onSet != nil {
			x.onSet(old, d.set)
		}
	case d.gone != nil:
		old := x.apps[d.gone.Name]
		delete(x.apps, d.gone.Name)
		if x.onApp != nil && old != nil {
			x.onApp(old, nil)
		}
	default:
		old := x.apps[d.app.Name]
		x.apps[d.app.Name] = d.app
		if x.onApp != nil {
			x.onApp(old, d.app)
		}
	}
}

// put writes what the owner of the cache has written itself into the cache at once, as Argo CD's controllers do.
func (x *watch) put(app *argo.Application) { x.apps[app.Name] = app }

func stepOf(app *argo.Application) int {
	if app == nil {
		return 0
	}
	n, err := strconv.Atoi(app.Labels["step"])
	if err != nil {
		return 0
	}
	return n
}

func ownedBy(set string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{
		{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: set, UID: uid, Controller: &yes},
	}
}
