// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	admission "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// process is stepgate with the memory that it has in a state.
type process struct {
	*cluster.Histories
	g       *gate
	w       *world
	at      second
	judge   *judge.Judge
	mutator *webhook.Mutator
	gate    *webhook.Gate
}

func (g *gate) process(w *world) *process {
	p := &process{g: g, w: w}
	if w == nil {
		p.w = &world{}
	}
	p.Histories = cluster.NewHistories(p)
	config := settings.Config{
		ServerAccounts: []string{serverAccount}, Pin: g.rule.Pin, Hold: true, Start: g.rule.Start, Account: stepgateAccount,
	}
	p.judge = judge.New(config, judge.Dependencies{
		Live: judge.NewLiveEvaluator(cluster.NewReader(p, p)), Histories: p, Windows: nil, Clock: p,
	})
	p.gate = webhook.NewGate(&course.Course{Judge: p.judge, Known: known{p}}, webhook.Dependencies{
		Record: g.records.recorder(p), Lookup: cluster.NewLookup(p, p.Histories),
	})
	p.mutator = webhook.NewMutator(p.gate)
	p.KeepSteps(&g.project.ApplicationSet)
	var log []*told
	for t := p.w.log; t != nil; t = t.before {
		log = append(log, t)
	}
	for i := len(log) - 1; i >= 0; i-- {
		t := log[i]
		p.at = t.at
		if t.asked {
			p.asks(t.app, t.revision)
			continue
		}
		if t.listed {
			p.Listed(t.app.projection)
			continue
		}
		p.Observe(t.app.projection)
	}
	p.at = p.w.now + gap
	return p
}

// asks has stepgate remember that somebody asks for a revision.
func (p *process) asks(app *object, r revision) {
	_, req := request(app, granted{app.number, byPerson, r})
	w, err := judge.NewWrite(req.AdmissionRequest, argocd.Tracking{})
	if err != nil {
		panic(err)
	}
	p.judge.History(w, &p.g.project.ApplicationSet)
}

// confirmed is of how many judgments one is asked of the handlers themselves.
const confirmed = 1024

// confirmSome counts the judgments, and confirms some of them.
func (g *gate) confirmSome(w *world, x granted, next *stored) {
	if g.judged++; g.judged%confirmed == 0 && !g.damaged() {
		g.confirms++
		g.confirm(w, x, next)
	}
}

// damaged reports whether the rule is.
func (g *gate) damaged() bool { return g.rule.Open || g.rule.Live != nil || g.rule.Past != nil }

// confirm asks the handlers, as the API server does. next is the operation that is to be stored; nil if none is.
func (g *gate) confirm(w *world, x granted, next *stored) {
	op, allowed := g.process(w).request(w.apps[x.app], x)
	got, want := opText(""), opText("")
	if allowed && op != nil {
		got = opText(encode(op))
	}
	if next != nil {
		want = next.text
	}
	if got != want {
		panic(fmt.Sprintf("%s of %s: the handlers store %q, and not %q, after\n%s", x.ask, names[x.app], got, want,
			strings.Join(texts(w.path.moves()), "\n")))
	}
}

// request is a write of an operation on an Application.
func request(old *object, x granted) (next *argo.Application, req admission.AdmissionRequest) {
	before := old.build()
	app := *before
	app.Operation = x.ask.operation(before, x.revision)
	if x.ask == byPerson || x.ask == dryRun {
		app.Status.OperationState = nil // argocd-server clears it
	}
	return &app, admission.AdmissionRequest{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "u", Kind: metav1.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
		Namespace: namespace, Name: app.Name, Operation: admissionv1.Update,
		UserInfo:  authenticationv1.UserInfo{Username: x.ask.account()},
		OldObject: runtime.RawExtension{Raw: encode(before)}, Object: runtime.RawExtension{Raw: encode(&app)},
	}}
}

// request asks both webhooks. It returns the operation as it is stored; nil if it is held.
func (p *process) request(old *object, x granted) (op *argo.Operation, allowed bool) {
	next, req := request(old, x)
	answer := p.mutator.Handle(context.Background(), req)
	if next.Operation = patched(next.Operation, answer.Patches); next.Operation == nil {
		return nil, true
	}
	req.Object.Raw = encode(next)
	return next.Operation, p.gate.Handle(context.Background(), req).Allowed
}

// patched is an operation after the patches of the mutating webhook, which change nothing else but for the result of the
// last operation where they hold this one.
func patched(op *argo.Operation, patches []jsonpatch.Operation) *argo.Operation {
	if len(patches) == 0 {
		return op
	}
	if patches[0].Path == "/operation" && patches[0].Operation == "remove" {
		return nil
	}
	for _, p := range patches {
		if !strings.HasPrefix(p.Path, "/operation/") {
			panic("the mutating webhook changes " + p.Path)
		}
	}
	var changed struct{ Operation *argo.Operation }
	raw := scenario.Patched(encode(map[string]any{"operation": op}), patches)
	if err := json.Unmarshal(raw, &changed); err != nil {
		panic(err)
	}
	return changed.Operation
}

// Now and Since are clock.PassiveClock.
func (p *process) Now() time.Time                  { return p.at.time() }
func (p *process) Since(t time.Time) time.Duration { return p.Now().Sub(t) }

// Owned is cluster.Known.
func (p *process) Owned(types.UID) []*argocd.Projection {
	all := make([]*argocd.Projection, 0, len(names))
	for _, app := range p.w.seen {
		all = append(all, app.projection)
	}
	return all
}

// Set is cluster.Known.
func (p *process) Set(types.NamespacedName) (*argocd.ApplicationSet, cluster.Version) {
	return p.g.project, cluster.Version{UID: setUID, ResourceVersion: "1"}
}

// ApplicationSet is cluster.Live.
func (p *process) ApplicationSet(context.Context, types.NamespacedName) (*argocd.ApplicationSet, error) {
	return p.g.project, nil
}

// SetVersion is cluster.Live.
func (p *process) SetVersion(context.Context, types.NamespacedName, int) (cluster.Version, error) {
	return cluster.Version{UID: setUID, ResourceVersion: "1"}, nil
}

// Application is cluster.Live.
func (p *process) Application(_ context.Context, name types.NamespacedName) (*argocd.Projection, error) {
	for i, app := range p.w.apps {
		if names[i] == name.Name {
			return app.projection, nil
		}
	}
	return nil, nil
}

// Versions is cluster.Live.
func (p *process) Versions(_ context.Context, _ string, selector labels.Selector) (all []cluster.Version, err error) {
	for _, app := range p.w.apps {
		live := app.projection
		if selector.Matches(labels.Set(live.Application.Labels)) {
			all = append(all, cluster.Version{
				Name: live.Name, UID: live.UID, Owner: live.Owner, ResourceVersion: live.ResourceVersion,
				Labels: live.Application.Labels,
			})
		}
	}
	return all, nil
}

// records are the metrics and Events of all: nobody looks at them.
type records struct {
	metrics *record.Metrics
	events  *record.Events
}

func newRecords() records {
	metrics := record.NewMetrics(prometheus.NewRegistry())
	return records{metrics, record.NewEvents(nobody{}, metrics, logr.Discard(), "proof", &process{})}
}

func (r records) recorder(clock *process) *record.Recorder {
	return record.NewRecorder(r.metrics, r.events, record.NewWaiting(nobody{}, clock))
}

// nobody takes Events, and knows no Application.
type nobody struct{}

func (nobody) CreateEvent(context.Context, *eventsv1.Event) error { return nil }
func (nobody) Owned(types.UID) []*argocd.Projection               { return nil }

// known is a process as judge.KnownSets.
type known struct{ *process }

// Application is judge.KnownSets.
func (k known) Application(name types.NamespacedName) *argocd.Projection {
	for i, app := range k.w.seen {
		if names[i] == name.Name {
			return app.projection
		}
	}
	return nil
}
