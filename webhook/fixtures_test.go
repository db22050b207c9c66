package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	argocdServer   = "system:serviceaccount:argocd:argocd-server"
	appSetAccount  = "system:serviceaccount:argocd:argocd-applicationset-controller"
	controllerUser = "system:serviceaccount:argocd:argocd-application-controller"
)

// noon is the clock of every test.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

// cluster is a Evaluator over real Argo CD objects: the real projection and the real rule, no API server.
type cluster struct {
	sets []*argo.ApplicationSet
	apps []*argo.Application

	mu    sync.Mutex
	reads int
	// failAt is the number of the read that fails, counted from 1.
	failAt int
}

var errRead = errors.New("etcdserver: request timed out")

func (c *cluster) read() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads++; c.reads == c.failAt {
		return errRead
	}
	return nil
}

func (c *cluster) ApplicationSet(_ context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("get ApplicationSet %s: %w", name, err)
	}
	for _, set := range c.sets {
		if set.Namespace == name.Namespace && set.Name == name.Name {
			return argocd.NewApplicationSet(set), nil
		}
	}
	return nil, nil
}

func (c *cluster) Evaluate(_ context.Context, in policy.Input, open policy.Decision) (policy.Decision, error) {
	if err := c.read(); err != nil {
		return policy.Decision{}, fmt.Errorf("list Applications: %w", err)
	}
	in.Siblings = nil
	for _, app := range c.apps {
		if owner := metav1.GetControllerOf(app); owner != nil && string(owner.UID) == in.ApplicationSet.UID {
			sibling := argocd.Sibling(app)
			in.Siblings = append(in.Siblings, in.ApplicationSet.Place(&sibling))
		}
	}
	return policy.Weigh(in, open), nil
}

// untouchable is a Evaluator for writes that need no read.
type untouchable struct{ t testing.TB }

func (u untouchable) ApplicationSet(context.Context, types.NamespacedName) (*argocd.ApplicationSet, error) {
	u.t.Error("the ApplicationSet was read")
	return nil, errRead
}

func (u untouchable) Evaluate(context.Context, policy.Input, policy.Decision) (policy.Decision, error) {
	u.t.Error("the siblings were read")
	return policy.Decision{}, errRead
}

// clusterOf makes argocd/guestbook with three steps and the Applications of a scenario: "STEP:NAME=HEALTH@REVISION",
// the revision a letter, "a" when left out. Every Application is Synced and compared at its revision.
func clusterOf(scenario string) *cluster {
	c := &cluster{sets: []*argo.ApplicationSet{rollingSync("guestbook", "1", "2", "3")}}
	for _, text := range strings.Fields(scenario) {
		step, rest, _ := strings.Cut(text, ":")
		name, rest, _ := strings.Cut(rest, "=")
		status, revision, _ := strings.Cut(rest, "@")
		c.apps = append(c.apps, appOf(name, step, status, revision))
	}
	return c
}

func rollingSync(name string, steps ...string) *argo.ApplicationSet {
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name, UID: types.UID(name + "-uid")}}
	rollout := &argo.ApplicationSetRolloutStrategy{}
	for _, step := range steps {
		rollout.Steps = append(rollout.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: "step", Operator: "In", Values: []string{step}}},
		})
	}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: rollout}
	return set
}

// commit is the commit that a letter stands for.
func commit(letter string) string { return strings.Repeat(letter, 40) }

func appOf(name, step, status, revision string) *argo.Application {
	if revision == "" {
		revision = "a"
	}
	source := argo.ApplicationSource{RepoURL: "https://git.example.com/deploy.git", Path: name, TargetRevision: "main"}
	destination := argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: name}
	return &argo.Application{
		TypeMeta: metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "Application"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "argocd", Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{"step": step},
			OwnerReferences: []metav1.OwnerReference{ownedBy("guestbook")},
		},
		Spec: argo.ApplicationSpec{Project: "default", Source: &source, Destination: destination},
		Status: argo.ApplicationStatus{
			Health:       argo.AppHealthStatus{Status: health.HealthStatusCode(status)},
			ReconciledAt: ptr.To(metav1.NewTime(noon.Add(-time.Minute))),
			Sync: argo.SyncStatus{
				Status: "Synced", Revision: commit(revision),
				ComparedTo: argo.ComparedTo{Source: source, Destination: destination},
			},
		},
	}
}

func ownedBy(set string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: set, UID: types.UID(set + "-uid"),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

// attempt is one write. before is nil for a CREATE; after is nil for a DELETE.
type attempt struct {
	before, after *argo.Application
	user          string
	dryRun        bool
}

// syncOf is what the ApplicationSet controller writes to start a sync of a live Application.
func syncOf(c *cluster, name string) *attempt {
	for _, app := range c.apps {
		if app.Name == name {
			a := &attempt{before: app, after: app.DeepCopy(), user: appSetAccount}
			a.after.Operation = &argo.Operation{
				Sync:        &argo.SyncOperation{SyncOptions: argo.SyncOptions{"RespectIgnoreDifferences=true"}},
				InitiatedBy: argo.OperationInitiator{Username: "applicationset-controller", Automated: true},
				Info:        []*argo.Info{{Name: "Reason", Value: "ApplicationSet RollingSync triggered a sync of this Application resource"}},
			}
			return a
		}
	}
	panic("no Application " + name)
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func rawOf(app *argo.Application) []byte {
	if app == nil {
		return nil
	}
	return encode(app)
}

func (a *attempt) request() admissionv1.AdmissionRequest {
	operation, named := admissionv1.Update, a.after
	switch {
	case a.before == nil:
		operation = admissionv1.Create
	case a.after == nil:
		operation, named = admissionv1.Delete, a.before
	}
	return admissionv1.AdmissionRequest{
		UID:       "request-uid",
		Kind:      metav1.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
		Resource:  metav1.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"},
		Namespace: named.Namespace, Name: named.Name, Operation: operation,
		UserInfo: authenticationv1.UserInfo{Username: a.user},
		Object:   runtime.RawExtension{Raw: rawOf(a.after)}, OldObject: runtime.RawExtension{Raw: rawOf(a.before)},
		DryRun: ptr.To(a.dryRun),
	}
}

func testConfig() settings.Config {
	return settings.Config{
		ServerAccounts: []string{argocdServer}, ControllerAccounts: []string{controllerUser},
		ApplicationSetAccounts: []string{appSetAccount}, BypassUsers: []string{"alice"}, Pin: settings.PinOff,
	}
}

// trial is a Gate with everything that it records to.
type trial struct {
	judge    *judge.Judge
	gate     *Gate
	metrics  *record.Metrics
	blocked  *record.Blocked
	recorder *record.Recorder
	events   *posted
	// known is what record.Blocked knows, and clock is the time of everything.
	known record.Known
	clock func() time.Time
	// refreshes are what was asked for.
	refreshes *refreshes
	registry  *prometheus.Registry
}

// Owned is record.Known.
func (t *trial) Owned(owner types.UID) []*argocd.Projection { return t.known.Owned(owner) }

// configure changes the configuration.
func (t *trial) configure(change func(*settings.Config)) {
	change(&t.judge.Config)
	t.judge.Parser = settings.NewParser(t.judge.Config, t.judge.Now)
}

// nobody is a record.Known of no Application.
type nobody struct{}

func (nobody) Owned(types.UID) []*argocd.Projection { return nil }

// posted remembers the Events that were created.
type posted struct {
	mu  sync.Mutex
	all []*eventsv1.Event
}

// CreateEvent is record.EventCreator.
func (p *posted) CreateEvent(_ context.Context, event *eventsv1.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, event)
	return nil
}

// refreshes is a Refresher that remembers.
type refreshes struct {
	mu    sync.Mutex
	asked []string
}

// witness says of every Application that it exists, or of none.
type witness bool

func (w witness) Exists(context.Context, types.NamespacedName, types.UID, []types.UID) bool {
	return bool(w)
}

// count is for a Refresher that others still use.
func (r *refreshes) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

func (r *refreshes) Ask(app types.NamespacedName, why string, comparedAt time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, strings.TrimSpace(app.String()+" "+why)+" at "+comparedAt.UTC().Format(time.TimeOnly))
}

func (r *refreshes) AskAgain(app types.NamespacedName, _ time.Time) {
	r.asked = append(r.asked, app.String()+" again")
}

func newTrial(config settings.Config, live judge.Evaluator) *trial {
	t := &trial{registry: prometheus.NewRegistry(), events: &posted{}, refreshes: &refreshes{}, known: nobody{}, clock: atNoon}
	now := func() time.Time { return t.clock() }
	t.metrics, t.blocked = record.NewMetrics(t.registry), record.NewBlocked(t, now)
	t.registry.MustRegister(t.blocked)
	t.judge = judge.New(config, judge.Dependencies{Live: live, Watch: &seenByWatch{}, Now: now})
	t.recorder = record.NewRecorder(t.metrics, record.NewEvents(t.events, t.metrics, logr.Discard(), "replica-1", now), t.blocked)
	t.gate = NewGate(t.judge, Dependencies{Record: t.recorder, Witness: witness(true), Refresh: t.refreshes})
	return t
}

func (t *trial) handle(req admissionv1.AdmissionRequest) webhook.AdmissionResponse {
	return t.gate.Handle(context.Background(), webhook.AdmissionRequest{AdmissionRequest: req})
}

// posted takes the queued Events.
func (t *trial) posted() []*eventsv1.Event {
	t.recorder.Flush(context.Background())
	all := t.events.all
	t.events.all = nil
	return all
}

// counted is the sum of the samples of a metric that have all these values of labels; an empty one stands for any.
func (t *trial) counted(metric string, values ...string) (sum float64) {
	for _, m := range t.samples(metric) {
		has := func(value string) bool {
			return value == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == value })
		}
		if !slices.ContainsFunc(values, func(value string) bool { return !has(value) }) {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// samples returns the samples of a metric.
func (t *trial) samples(metric string) []*dto.Metric {
	families, err := t.registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		if family.GetName() == metric {
			return family.GetMetric()
		}
	}
	return nil
}
