// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	admission "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// stepgate couples the world to the real gate: webhook.Gate and webhook.Mutator on cluster.Reader, with the world's
// API server behind, and release.Releaser. The watch feeds the real cluster.Histories. The requests for refreshes, and
// when the Releaser looks, are modelled here, because they take time.
type stepgate struct {
	w        *world
	replicas []*replica
	lease    lease
	objects  objects
	kept     kept
	turn     int
	// encoded, projected and sets remember what the last objects come to, which are never changed.
	encoded, projected, sets *lru.Cache
}

// replica is one process of stepgate.
type replica struct {
	*cluster.Histories
	of         *stepgate
	w          *world
	cache      *watch
	projection func(*argo.Application) *argocd.Projection
	// owned are the Applications of an ApplicationSet, until one of them changes.
	owned   map[types.UID][]*argocd.Projection
	records records
	gate    *webhook.Gate
	mutator *webhook.Mutator
	asked   map[request]asked
	// releaser reconciles an ApplicationSet at reconcileAt, unless the replica has been started again since; zero when it
	// does not.
	releaser    *release.Releaser
	reconcileAt map[*family]time.Duration
	starts      int
	verified    verified
	remembered  remembered
}

type request struct{ app, why string }

type asked struct {
	at         time.Duration
	comparedAt time.Time
	position   uint64
	again      int
}

// versions are how many of an object somebody may have in mind at a time: the API server, the caches and writes.
const versions = 8

func newStepgate(w *world, records records) *stepgate {
	s := &stepgate{
		w: w, objects: objects{stored: map[types.UID]slots.Stored{}}, encoded: lru.New(versions),
		projected: lru.New(versions * (len(w.scenario.Applications) + versions)), sets: lru.New(versions * len(w.families)),
	}
	s.kept = kept{s, map[ledger.ID]ledger.Object{}, 0}
	for range w.scenario.Replicas {
		s.replicas = append(s.replicas, newReplica(s, records))
	}
	return s
}

func newReplica(s *stepgate, records records) *replica {
	w := s.w
	r := &replica{of: s, w: w, projection: s.projection, records: records, cache: w.api.watch("stepgate")}
	r.cache.onApp = r.saw
	r.cache.onSet = func(old, set *argo.ApplicationSet) {
		if old.UID != set.UID {
			r.ForgetSteps(&s.setProjection(old).ApplicationSet)
		}
		r.KeepSteps(&s.setProjection(set).ApplicationSet)
		if argocd.NewPass(set).Ended(argocd.NewPass(old)) {
			r.PassEnded(cluster.Owner{Namespace: set.Namespace, UID: set.UID}, set.ResourceVersion)
		}
		r.changed(r.w.family(set.Name))
	}
	for _, name := range w.names {
		r.cache.apps[name] = w.api.apps[name]
	}
	for _, f := range w.families {
		r.cache.sets[f.name] = f.live
	}
	w.evidence.watches = append(w.evidence.watches, r.testified)
	r.start()
	return r
}

// start begins with no memory: it lists everything.
func (r *replica) start() {
	r.Histories = cluster.NewHistories(virtualClock{r.w})
	r.asked, r.owned = map[request]asked{}, map[types.UID][]*argocd.Projection{}
	r.remember()
	r.starts, r.reconcileAt = r.starts+1, map[*family]time.Duration{}
	config := settings.Config{
		ServerAccounts: []string{serverAccount}, Pin: pinOf(r.w.scenario), FourEyes: r.w.scenario.FourEyes,
		Hold: !r.w.scenario.Refuses, Release: true, Start: r.w.scenario.Start,
		Account: stepgateAccount, MaxUpdate: r.w.scenario.MaxUpdate == keepMaxUpdate, Waves: r.w.parent() != "",
		Expressions: expression.NewCompiler(verifiedKinds.Read),
	}
	if r.w.scenario.Audit {
		config.Mode = settings.Audit
	}
	reader := cluster.NewReader(r, r)
	// Without Known, which changes no answer: a read that is ended early would go on beside the next event of the
	// world.
	j := judge.New(config, judge.Dependencies{
		Live: judge.NewLiveEvaluator(reader), Histories: r, Windows: r, Clock: virtualClock{r.w}, Evidence: r.verify(),
	})
	r.verified.parser = j.Parser
	recorder := r.records.recorder(virtualClock{r.w})
	requests := release.NewRequests(r, known{r}, virtualClock{r.w})
	way := &course.Course{Judge: j, Known: known{r}, Slots: slots.NewStore(&r.of.objects, reader, virtualClock{r.w})}
	r.gate = webhook.NewGate(way, webhook.Dependencies{
		Record: teller{recorder, r.w}, Lookup: cluster.NewLookup(r, r.Histories), Requests: requests,
	})
	r.mutator = webhook.NewMutator(r.gate)
	r.releaser = release.New(j, known{r}, recorder.Waiting(), requests, r.w.delay)
	r.releaser.VerifyWith(r)
	r.chronicle(j)
	if r.w.scenario.Start {
		r.releaser.StartWith(r)
	}
	if r.w.scenario.Start || r.w.scenario.Ledger {
		r.releaser.FollowUnless(r.Leads)
	}
	for _, f := range r.w.families {
		r.KeepSteps(&r.of.setProjection(r.cache.sets[f.name]).ApplicationSet)
	}
	for _, name := range slices.Sorted(maps.Keys(r.cache.apps)) {
		r.Listed(r.projection(r.cache.apps[name]))
	}
	if l := r.remembered.ledger; l != nil {
		l.Listed()
	}
	r.reconcileAll()
}

// pinOf is how the scenario pins operations: it is compared unless it says otherwise.
func pinOf(s *Scenario) settings.Pin {
	pin, err := settings.ParsePin(cmp.Or(s.Pin, "compared"))
	if err != nil {
		panic(err) // Parse has checked it
	}
	return pin
}

// Restart loses the memory of one replica.
func (s *stepgate) Restart(n int) { s.restart(s.replicas[n%len(s.replicas)]) }

func (s *stepgate) restart(r *replica) {
	r.end()
	r.start()
	s.lose(slices.Index(s.replicas, r))
}

// Kill is Gate.
func (s *stepgate) Kill() {
	s.w.restarted = s.w.now
	for _, r := range s.replicas {
		r.start()
	}
	s.passTo(s.lease.holder, takeover)
}

// Mutate asks one replica after the other. A webhook that is not called leaves the write as it is.
func (s *stepgate) Mutate(write Write) *argo.Application {
	r := s.replicas[s.turn%len(s.replicas)]
	answer := r.mutator.Handle(context.Background(), s.admissionOf(write))
	if len(answer.Patches) == 0 {
		return write.New
	}
	app := *write.New
	patches := slices.DeleteFunc(slices.Clone(answer.Patches), func(p jsonpatch.Operation) bool {
		return p.Path == "/status/operationState"
	})
	if len(patches) < len(answer.Patches) {
		app.Status.OperationState = write.Old.Status.OperationState // whoever asks for a sync clears it
	}
	app.Operation = patched(app.Operation, patches)
	if why := answer.AuditAnnotations["reason"]; why != "" {
		s.w.logf("the mutating webhook: %s %s", why, answer.AuditAnnotations["blockers"])
		s.w.stopped(write.New.Name, policy.Reason(why))
	}
	return &app
}

// Decide asks one replica after the other.
func (s *stepgate) Decide(write Write) Verdict {
	r := s.replicas[s.turn%len(s.replicas)]
	s.turn++
	v := r.decide(s.admissionOf(write))
	if !v.Allowed {
		s.w.stopped(write.New.Name, v.Reason)
	}
	return v
}

func (r *replica) decide(request admission.AdmissionRequest) Verdict {
	answer := r.gate.Handle(context.Background(), request)
	v := Verdict{
		Allowed: answer.Allowed, Reason: policy.Reason(answer.AuditAnnotations["reason"]),
		Blockers: answer.AuditAnnotations["blockers"],
	}
	if answer.Result != nil {
		v.Message = answer.Result.Message
	}
	return v
}

// projection is what the real webhook keeps of an Application.
func (s *stepgate) projection(app *argo.Application) *argocd.Projection {
	return cached(s.projected, app, argocd.NewProjection)
}

// setProjection is what it keeps of an ApplicationSet.
func (s *stepgate) setProjection(set *argo.ApplicationSet) *argocd.ApplicationSet {
	return cached(s.sets, set, orderOf)
}

// cached is what an object comes to.
func cached[K, V any](in *lru.Cache, object *K, of func(*K) V) V {
	if found, ok := in.Get(object); ok {
		v, _ := found.(V)
		return v
	}
	v := of(object)
	in.Add(object, v)
	return v
}

// saw is told by the watch of the world.
func (r *replica) saw(old, app *argo.Application) {
	clear(r.owned)
	switch {
	case app != nil:
		r.Observe(r.projection(app))
	case old != nil:
		r.Forget(r.projection(old))
	}
	if app == nil {
		app = old
	}
	if app != nil {
		r.changed(r.w.members[app.Name].family)
	}
}

// changed is told of what has changed of an ApplicationSet: it is looked at, and those that come after it.
func (r *replica) changed(f *family) {
	r.writeDown(f)
	r.reconcileIn(f, settle)
	for _, other := range r.w.families {
		if slices.Contains(other.after, f) {
			r.reconcileIn(other, settle)
		}
	}
}

func (r *replica) reconcileAll() {
	for _, f := range r.w.families {
		r.reconcileIn(f, settle)
	}
}

// settle is the one of webhook/release/controller.go, which does this in real time.
const settle = 100 * time.Millisecond

// reconcileIn makes the releaser look at an ApplicationSet after d, or before.
func (r *replica) reconcileIn(f *family, d time.Duration) {
	at, start := r.w.now+d, r.starts
	if r.reconcileAt[f] > 0 && r.reconcileAt[f] <= at {
		return
	}
	r.reconcileAt[f] = at
	r.w.after(d, func() {
		if r.reconcileAt[f] != at || r.starts != start {
			return
		}
		r.reconcileAt[f] = 0
		if d > settle && r.w.conditions.restarts > 0 {
			r.w.conditions.restarts--
			r.w.restarted = r.w.now
			r.of.restart(r)
			return
		}
		if again := r.releaser.Reconcile(r.w.key(f)); again > 0 {
			r.reconcileIn(f, again)
		}
	})
}

// Window is webhook.SyncWindows. Argo CD's library would read the real clock.
func (r *replica) Window(_ string, app argocd.WindowSubject, _ bool, now time.Time) policy.Window {
	if m := r.w.members[app.Name]; m != nil && now.Before(epoch.Add(m.closedUntil)) {
		return policy.Window{Closed: true, OpensAt: epoch.Add(m.closedUntil), Detail: "deny"}
	}
	return policy.Window{}
}

// approvalOf is the text that approves what an Application was compared with.
func approvalOf(app *argo.Application) string {
	return policy.ApprovalOf(argocd.NewProjection(app).Application.Compared)
}

// Ask is release.Refresher: webhook/refresh/queue.go in virtual time, and the server-side apply without force.
func (r *replica) Ask(app types.NamespacedName, why string, comparedAt time.Time, wait time.Duration) {
	key, next := request{app.Name, why}, asked{at: r.w.now, comparedAt: comparedAt, position: r.Position()}
	if last, ok := r.asked[key]; ok && r.w.now-last.at < 30*time.Second {
		compared := !last.comparedAt.Equal(comparedAt) || r.Compared(app.Name, last.position)
		if !compared || last.again == 2 {
			return
		}
		next.again = last.again + 1
	}
	r.asked[key] = next
	r.w.after(wait, func() {
		position := r.Position()
		r.w.after(r.w.delay(10*time.Millisecond), func() {
			if known := r.cache.apps[app.Name]; known == nil || !r.RequestedSince(known.UID, position) {
				r.w.askRefresh(app.Name, "stepgate")
			}
		})
	})
}

// Compared is refresh.Watch.
func (r *replica) Compared(name string, position uint64) bool {
	app := r.cache.apps[name]
	return app != nil && r.ComparedSince(app.UID, position)
}

// AskAgain is release.Refresher.
func (r *replica) AskAgain(app types.NamespacedName, _ time.Time) {
	r.w.after(r.w.delay(10*time.Millisecond), func() { r.w.askRefreshAgain(app.Name) })
}

// Owned is cluster.Known.
func (r *replica) Owned(owner types.UID) []*argocd.Projection {
	all, known := r.owned[owner]
	if known {
		return all
	}
	for _, name := range r.w.names {
		if app := r.cache.apps[name]; app != nil && r.w.ownerOf(app) == owner {
			all = append(all, r.projection(app))
		}
	}
	r.owned[owner] = all
	return all
}

// Set is cluster.Known, and what the Mutator knows.
func (r *replica) Set(name types.NamespacedName) (*argocd.ApplicationSet, cluster.Version) {
	if f := r.w.familyOf(name); f != nil {
		return r.of.setProjection(r.cache.sets[f.name]), cluster.Version{}
	}
	return nil, cluster.Version{}
}

// ApplicationSet is cluster.Live.
func (r *replica) ApplicationSet(_ context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	if f := r.w.familyOf(name); f != nil {
		return r.of.setProjection(f.live), nil
	}
	return nil, nil
}

// SetVersion is cluster.Live.
func (r *replica) SetVersion(context.Context, types.NamespacedName, int) (cluster.Version, error) {
	return cluster.Version{}, nil
}

// Application is cluster.Live.
func (r *replica) Application(_ context.Context, name types.NamespacedName) (*argocd.Projection, error) {
	if app := r.w.api.apps[name.Name]; app != nil {
		return r.projection(app), nil
	}
	return nil, nil
}

// known is a replica as judge.KnownSets.
type known struct{ *replica }

// Application is judge.KnownSets.
func (k known) Application(name types.NamespacedName) *argocd.Projection {
	if app := k.cache.apps[name.Name]; app != nil {
		return k.projection(app)
	}
	return nil
}

// Versions is cluster.Live.
func (r *replica) Versions(_ context.Context, _ string, selector labels.Selector) ([]cluster.Version, error) {
	var all []cluster.Version
	for _, name := range r.w.names {
		if app := r.w.api.apps[name]; app != nil && selector.Matches(labels.Set(app.Labels)) {
			all = append(all, cluster.Version{
				Name: name, UID: app.UID, Owner: r.w.ownerOf(app), ResourceVersion: app.ResourceVersion,
				Labels: app.Labels,
			})
		}
	}
	return all, nil
}

// virtualClock is the time in a world.
type virtualClock struct{ w *world }

func (c virtualClock) Now() time.Time                  { return epoch.Add(c.w.now) }
func (c virtualClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
