// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"slices"
	"sync"

	dto "github.com/prometheus/client_model/go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// trial is a Gate with everything that it records to.
type trial struct {
	judge    *judge.Judge
	course   *course.Course
	gate     *Gate
	metrics  *record.Metrics
	blocked  *record.Waiting
	recorder *record.Recorder
	events   *posted
	// known is what record.Waiting knows, and clock is the time of everything.
	known record.Known
	clock *clocktesting.FakeClock
	// refreshes are what was asked for.
	refreshes *scenario.Refreshes
	requests  *release.Requests
	registry  *prometheus.Registry
}

// Owned is record.Known.
func (t *trial) Owned(owner types.UID) []*argocd.Projection { return t.known.Owned(owner) }

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

// existing says of every Application that it exists, or of none.
type existing bool

func (w existing) Exists(context.Context, types.NamespacedName, types.UID, []types.UID) bool {
	return bool(w)
}

func newTrial(config settings.Config, live judge.Evaluator) *trial {
	t := &trial{
		registry: prometheus.NewRegistry(), events: &posted{}, refreshes: &scenario.Refreshes{}, known: nobody{}, clock: clocktesting.NewFakeClock(scenario.Noon),
	}
	t.metrics, t.blocked = record.NewMetrics(t.registry), record.NewWaiting(t, t.clock)
	t.registry.MustRegister(t.blocked)
	t.judge = judge.New(config, judge.Dependencies{Live: live, Histories: &scenario.Watch{}, Clock: t.clock})
	t.recorder = record.NewRecorder(t.metrics,
		record.NewEvents(t.events, t.metrics, logr.Discard(), "replica-1", t.clock), t.blocked)
	t.requests = release.NewRequests(t.refreshes, t, t.clock)
	dependencies := Dependencies{Record: t.recorder, Lookup: existing(true)}
	if config.Release {
		dependencies.Requests = t.requests
	}
	t.course = &course.Course{Judge: t.judge}
	t.gate = NewGate(t.course, dependencies)
	return t
}

// mutator is a Mutator that knows what there is in a cluster, and hands its judgments on to the Gate.
func (t *trial) mutator(c *scenario.Cluster) *Mutator {
	t.course.Known = scenario.Watched{Cluster: c}
	t.course.Roots = outlook.NewRoots(t.judge, t.course.Known, slots.NewView(t.course.Known, nil, t.clock))
	return NewMutator(t.gate)
}

// handle has a request judged by the Gate, with the operation as the Mutator leaves it.
func (t *trial) handle(req admissionv1.AdmissionRequest) webhook.AdmissionResponse {
	return t.asWritten(scenario.Pinned(req))
}

// asWritten has a request judged by the Gate that the Mutator has not seen.
func (t *trial) asWritten(req admissionv1.AdmissionRequest) webhook.AdmissionResponse {
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
