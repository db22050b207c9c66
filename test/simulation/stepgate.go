package simulation

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	admission "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// stepgate couples the world to the real gate: webhook.Gate and siblings.Reader, with the world's API server behind. It is the only
// file that knows stepgate's packages. What those run in the background is modelled here: the watch with what it saw first, the
// requests for refreshes, and the holding back of repeated writes.
type stepgate struct {
	w        *world
	replicas []*replica
	turn     int
}

// replica is one process of stepgate.
type replica struct {
	w     *world
	cache *watch
	gate  *webhook.Gate
	seen  map[types.UID]sighting
	asked map[request]asked
	held  map[string]*repetition
	// projected remembers the projection of an object, which is never changed.
	projected map[*argo.Application]*siblings.Projection
}

type sighting struct {
	compared   []policy.Source
	syncStatus string
	at         time.Time
}

type request struct{ app, why string }

type asked struct {
	at         time.Duration
	comparedAt time.Time
	again      int
}

type repetition struct {
	message string
	limiter *rate.Limiter
}

func newStepgate(w *world, record *webhook.Recorder) *stepgate {
	s := &stepgate{w: w}
	for range w.scenario.Replicas {
		s.replicas = append(s.replicas, newReplica(w, record))
	}
	return s
}

func newReplica(w *world, record *webhook.Recorder) *replica {
	r := &replica{w: w, cache: w.api.watch("stepgate"), projected: map[*argo.Application]*siblings.Projection{}}
	r.forget()
	r.cache.onApp = r.saw
	for _, name := range w.names {
		r.cache.apps[name] = w.api.apps[name]
		r.saw(nil, w.api.apps[name])
	}
	r.cache.set = w.api.set
	config := webhook.Config{ServerAccounts: []string{serverAccount}, RefreshStaleSiblings: true}
	r.gate = webhook.NewGate(config, webhook.Parts{
		Live: siblings.NewReader(r, r), Record: record, Watch: r, Refresh: r, Now: func() time.Time { return epoch.Add(w.now) },
	})
	return r
}

func (r *replica) forget() {
	r.seen, r.asked, r.held = map[types.UID]sighting{}, map[request]asked{}, map[string]*repetition{}
}

// Mutate changes nothing: there is no pin and no hold yet.
func (s *stepgate) Mutate(w Write) *argo.Application { return w.New }

// Restart loses the memory of one replica: it lists everything once more.
func (s *stepgate) Restart(n int) {
	r := s.replicas[n%len(s.replicas)]
	r.forget()
	for _, name := range slices.Sorted(maps.Keys(r.cache.apps)) {
		r.saw(nil, r.cache.apps[name])
	}
}

// Decide asks one replica after the other.
func (s *stepgate) Decide(write Write) Verdict {
	r := s.replicas[s.turn%len(s.replicas)]
	s.turn++
	return r.decide(write)
}

func (r *replica) decide(write Write) Verdict {
	name := write.New.Name
	if write.By == applicationSetAccount {
		r.holdBack(name)
	}
	request := admission.AdmissionRequest{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "u", Kind: metav1.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
		Namespace: namespace, Name: name, Operation: admissionv1.Create,
		Object: runtime.RawExtension{Raw: encode(write.New)}, UserInfo: authenticationv1.UserInfo{Username: write.By},
	}}
	if write.Old != nil {
		request.Operation, request.OldObject.Raw = admissionv1.Update, encode(write.Old)
	}
	answer := r.gate.Handle(context.Background(), request)
	v := Verdict{Allowed: answer.Allowed, Reason: policy.Reason(answer.AuditAnnotations["reason"]), Blockers: answer.AuditAnnotations["blockers"]}
	if answer.Result != nil {
		v.Message = answer.Result.Message
	}
	if write.By == applicationSetAccount {
		r.remember(name, v)
	}
	return v
}

func encode(app *argo.Application) []byte {
	raw, err := json.Marshal(app)
	if err != nil {
		panic(err) // an Application is plain data
	}
	return raw
}

// holdBack is webhook/pace.go in virtual time.
func (r *replica) holdBack(name string) {
	if before := r.held[name]; before != nil {
		now := epoch.Add(r.w.now)
		if wait := min(before.limiter.ReserveN(now, 1).DelayFrom(now), time.Second); wait > 0 {
			r.w.advance(wait)
		}
	}
}

func (r *replica) remember(name string, v Verdict) {
	before := r.held[name]
	switch {
	case v.Allowed:
		delete(r.held, name)
	case before == nil || before.message != v.Message:
		r.held[name] = &repetition{v.Message, rate.NewLimiter(rate.Every(time.Second), 10)}
	}
}

// projection is what the real webhook keeps of an Application.
func (r *replica) projection(app *argo.Application) *siblings.Projection {
	p := r.projected[app]
	if p == nil {
		p = siblings.NewProjection(app)
		r.projected[app] = p
	}
	return p
}

// saw is webhook/siblings/sightings.go, told by the watch of the world.
func (r *replica) saw(_, app *argo.Application) {
	if app == nil {
		return
	}
	p := r.projection(app)
	now := sighting{compared: p.Application.Compared, syncStatus: p.Application.SyncStatus, at: p.Application.ReconciledAt}
	last, known := r.seen[p.UID]
	if known && slices.Equal(last.compared, now.compared) && (now.syncStatus != "OutOfSync" || last.syncStatus == "OutOfSync") {
		now.at = last.at
	}
	r.seen[p.UID] = now
}

// FirstSeen is webhook.Watch.
func (r *replica) FirstSeen(app types.UID, compared []policy.Source) time.Time {
	if last, ok := r.seen[app]; ok && slices.Equal(last.compared, compared) {
		return last.at
	}
	return time.Time{}
}

// Ask is webhook.Refresher: webhook/refresh/queue.go in virtual time, and the server-side apply without force.
func (r *replica) Ask(app types.NamespacedName, why string, comparedAt time.Time) {
	key, next := request{app.Name, why}, asked{at: r.w.now, comparedAt: comparedAt}
	if last, ok := r.asked[key]; ok && r.w.now-last.at < 30*time.Second {
		if last.comparedAt.Equal(comparedAt) || last.again == 2 {
			return
		}
		next.again = last.again + 1
	}
	r.asked[key] = next
	r.w.after(r.w.delay(10*time.Millisecond), func() { r.w.askRefresh(app.Name, "stepgate") })
}

// Owned is siblings.Known.
func (r *replica) Owned(types.UID) []*siblings.Projection {
	all := make([]*siblings.Projection, 0, len(r.cache.apps))
	for _, name := range r.w.names {
		if app := r.cache.apps[name]; app != nil {
			all = append(all, r.projection(app))
		}
	}
	return all
}

// Set is siblings.Known: few Applications are recorded, so that the ApplicationSet is read live.
func (r *replica) Set(types.NamespacedName) (*siblings.ApplicationSet, siblings.Version) {
	return nil, siblings.Version{}
}

// ApplicationSet is siblings.Live.
func (r *replica) ApplicationSet(context.Context, types.NamespacedName) (*siblings.ApplicationSet, error) {
	return siblings.NewApplicationSet(r.w.api.set), nil
}

// SetVersion is siblings.Live.
func (r *replica) SetVersion(context.Context, types.NamespacedName) (siblings.Version, error) {
	return siblings.Version{}, nil
}

// Application is siblings.Live.
func (r *replica) Application(_ context.Context, name types.NamespacedName) (*siblings.Projection, error) {
	if app := r.w.api.apps[name.Name]; app != nil {
		return r.projection(app), nil
	}
	return nil, nil
}

// Versions is siblings.Live.
func (r *replica) Versions(_ context.Context, _ string, selector labels.Selector) ([]siblings.Version, error) {
	var all []siblings.Version
	for _, name := range r.w.names {
		if app := r.w.api.apps[name]; app != nil && selector.Matches(labels.Set(app.Labels)) {
			all = append(all, siblings.Version{Name: name, UID: app.UID, Owner: setUID, ResourceVersion: app.ResourceVersion, Labels: app.Labels})
		}
	}
	return all, nil
}
