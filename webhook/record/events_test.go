// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// creatorFunc is an EventCreator of one function.
type creatorFunc func(context.Context, *eventsv1.Event) error

func (f creatorFunc) CreateEvent(ctx context.Context, e *eventsv1.Event) error { return f(ctx, e) }

func newTestEvents(create EventCreator) (*Events, *clocktesting.FakeClock) {
	at := clocktesting.NewFakeClock(noon)
	return NewEvents(create, NewMetrics(prometheus.NewRegistry()), logr.Discard(), "replica-1", at), at
}

// denialOf is a denied sync of an Application. Blockers are NAME:REASON.
func denialOf(application string, blockers ...string) (*judge.Write, judge.Verdict, wait) {
	w := &judge.Write{Namespace: "argocd", UID: types.UID("uid-of-" + application)}
	w.Target.Name = application
	v := judge.Verdict{Decision: policy.Decision{Step: 2, ApplicationSet: "argocd/guestbook"}}
	for _, blocker := range blockers {
		name, reason, _ := strings.Cut(blocker, ":")
		v.Blockers = append(v.Blockers, policy.Blocker{Application: name, Reason: policy.Reason(reason)})
	}
	if len(v.Blockers) > 0 {
		v.Reason = v.Blockers[0].Reason
	}
	return w, v, wait{}
}

// drain takes the queued Events.
func drain(e *Events) int { return len(taken(e)) }

func taken(e *Events) (all []*eventsv1.Event) {
	for _, l := range []lane{e.exemptions, e.lane} {
		for len(l.queue) > 0 {
			all = append(all, (<-l.queue).event)
		}
	}
	return all
}

func counted(e *Events, result string) int {
	return int(testutil.ToFloat64(e.metrics.events.WithLabelValues(result)))
}

func TestEventsOnePerApplicationReasonAndBlockers(t *testing.T) {
	g := NewWithT(t)
	events, clock := newTestEvents(nil)
	post := func(application string, blockers ...string) int {
		events.post(denialOf(application, blockers...))
		return drain(events)
	}

	g.Expect(post("prod", "qa:NotHealthy")).To(Equal(1))
	g.Expect(post("prod", "qa:NotHealthy")).To(Equal(0), "the same again")
	g.Expect(post("prod2", "qa:NotHealthy")).To(Equal(1), "another Application")
	g.Expect(post("prod", "dev:NotHealthy")).To(Equal(1), "another blocker")
	g.Expect(post("prod", "qa:NotHealthy", "qa2:NotHealthy")).To(Equal(1), "one blocker more")
	g.Expect(post("prod", "qa:NotCompleted")).To(Equal(1), "another reason of the same blocker")
	w, v, none := denialOf("prod", "qa:NotCompleted")
	v.Blockers[0].Next = policy.RefreshIt
	events.post(w, v, none)
	g.Expect(drain(events)).To(Equal(1), "the same reason, and something else to do")
	g.Expect(counted(events, "repeated")).To(Equal(1))

	w, v, none = denialOf("prod", "qa:NotHealthy")
	v.Settings.Mode = settings.Audit
	events.post(w, v, none)
	g.Expect(drain(events)).To(Equal(1), "another kind of Event")

	clock.Step(10*time.Minute - time.Nanosecond)
	g.Expect(post("prod", "qa:NotHealthy")).To(Equal(0), "within the window")
	clock.Step(time.Nanosecond)
	g.Expect(post("prod", "qa:NotHealthy")).To(Equal(1), "the window has passed")
	g.Expect(post("prod", "qa:NotHealthy")).To(Equal(0), "and begins again")
}

func TestEventsOfAReCreatedApplication(t *testing.T) {
	g := NewWithT(t)
	events, _ := newTestEvents(nil)
	for _, uid := range []string{"one", "two"} {
		w, v, none := denialOf("prod", "qa:NotHealthy")
		w.UID = types.UID(uid)
		events.post(w, v, none)
	}
	g.Expect(drain(events)).To(Equal(2))
}

func TestEventsDetailIsNoNewEvent(t *testing.T) {
	g := NewWithT(t)
	events, _ := newTestEvents(nil)
	for _, detail := range []string{"Progressing", "Degraded"} {
		w, v, none := denialOf("prod", "qa:NotHealthy")
		v.Blockers[0].Detail = detail
		events.post(w, v, none)
	}
	g.Expect(drain(events)).To(Equal(1), "a flapping health would be an Event each time")
}

func TestEventsTokenBucket(t *testing.T) {
	g := NewWithT(t)
	events, clock := newTestEvents(nil)
	post := func(n int, prefix string) int {
		sent := 0
		for i := range n {
			events.post(denialOf(fmt.Sprint(prefix, i), "qa:NotHealthy"))
			sent += drain(events)
		}
		return sent
	}
	g.Expect(post(250, "a")).To(Equal(100), "the burst")
	g.Expect(counted(events, "dropped")).To(Equal(150))
	clock.Step(5 * time.Second)
	g.Expect(post(50, "b")).To(Equal(10), "two a second")
	g.Expect(counted(events, "dropped")).To(Equal(190))
}

// A thousand decisions at once, while the API server does not take an Event: each returns at once, and what does not
// fit is counted.
func TestEventsNeverBlock(t *testing.T) {
	g := NewWithT(t)
	hung := make(chan struct{}, 1)
	events, _ := newTestEvents(creatorFunc(func(ctx context.Context, _ *eventsv1.Event) error {
		select {
		case hung <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { events.run(ctx); close(ended) }()
	events.post(denialOf("first", "qa:NotHealthy"))
	<-hung

	var posting sync.WaitGroup
	for i := range 1000 {
		posting.Go(func() { events.post(denialOf(fmt.Sprint(i), "qa:NotHealthy")) })
	}
	posted := make(chan struct{})
	go func() { posting.Wait(); close(posted) }()
	g.Eventually(posted, time.Minute).Should(BeClosed())
	g.Expect(len(events.queue)).To(BeNumerically("<=", cap(events.queue)))
	g.Expect(counted(events, "dropped") + len(events.queue)).To(Equal(1000))
	cancel()
	g.Eventually(ended).Should(BeClosed())
}

// The queue is full before the bucket is empty when nobody takes Events and time passes.
func TestEventsFullQueue(t *testing.T) {
	g := NewWithT(t)
	events, clock := newTestEvents(nil)
	posted := make(chan struct{})
	go func() {
		defer close(posted)
		for i := range 150 {
			clock.Step(time.Second)
			events.post(denialOf(fmt.Sprint(i), "qa:NotHealthy"))
		}
	}()
	g.Eventually(posted, 10*time.Second).Should(BeClosed())
	g.Expect(counted(events, "dropped")).To(Equal(50))
	g.Expect(drain(events)).To(Equal(100))
}

func TestEventsAreSentAndCounted(t *testing.T) {
	g := NewWithT(t)
	created := make(chan *eventsv1.Event, 3)
	events, _ := newTestEvents(creatorFunc(func(ctx context.Context, e *eventsv1.Event) error {
		deadline, bounded := ctx.Deadline()
		if !bounded || time.Until(deadline) > 10*time.Second {
			return errors.New("not bounded in time")
		}
		created <- e
		if e.Regarding.Name == "refused" {
			return errors.New("events is forbidden")
		}
		return nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go events.run(ctx)
	for _, name := range []string{"prod", "refused", "after"} {
		events.post(denialOf(name, "qa:NotHealthy"))
	}
	g.Eventually(func() int { return counted(events, "sent") }).Should(Equal(2))
	g.Eventually(func() int { return counted(events, "failed") }).Should(Equal(1))
	g.Expect(created).To(HaveLen(3))
}

// The memory of what was posted is bounded, whatever is denied.
func TestEventsMemoryIsBounded(t *testing.T) {
	g := NewWithT(t)
	events, clock := newTestEvents(nil)
	for i := range 20_000 {
		events.post(denialOf(fmt.Sprint("a", i), "qa:NotHealthy"))
		drain(events)
		clock.Step(100 * time.Millisecond)
		g.Expect(len(events.posted.Keys())).To(BeNumerically("<=", eventMemory))
	}
}

// What was not posted is not "posted a moment ago": the next denial posts it.
func TestALostEventIsPostedByTheNextDenial(t *testing.T) {
	t.Run("dropped by the bucket", func(t *testing.T) {
		g := NewWithT(t)
		events, clock := newTestEvents(nil)
		for i := range eventBurst + 1 {
			events.post(denialOf(fmt.Sprint("a", i), "qa:NotHealthy"))
		}
		drain(events)
		clock.Step(time.Second)
		events.post(denialOf(fmt.Sprint("a", eventBurst), "qa:NotHealthy"))
		g.Expect(drain(events)).To(Equal(1))
	})
	t.Run("refused by the API server", func(t *testing.T) {
		g := NewWithT(t)
		events, _ := newTestEvents(refusing{})
		events.post(denialOf("a", "qa:NotHealthy"))
		events.send(t.Context(), <-events.queue)
		events.post(denialOf("a", "qa:NotHealthy"))
		g.Expect(drain(events)).To(Equal(1))
	})
}

// refusing creates nothing.
type refusing struct{}

func (refusing) CreateEvent(context.Context, *eventsv1.Event) error { return errors.New("refused") }

// TestEventsOfExemptionsAreNotDroppedForOthers has so many denials that most of their Events are dropped, and then a
// bypass.
func TestEventsOfExemptionsAreNotDroppedForOthers(t *testing.T) {
	g := NewWithT(t)
	events, _ := newTestEvents(nil)
	for i := range 1000 {
		events.post(denialOf(fmt.Sprintf("prod-%d", i), "qa:NotHealthy"))
	}
	g.Expect(counted(events, "dropped")).To(BeNumerically(">", 0))
	w, v, none := denialOf("prod")
	v.Decision = policy.Decision{Outcome: policy.NotGated, Reason: policy.Bypassed}
	v.Settings.Bypass = "INC-1 by alice"
	events.post(w, v, none)
	g.Expect(taken(events)).To(ContainElement(HaveField("Note", "the gate was bypassed: INC-1 by alice")))
}

// TestATerminatedSyncIsTold says of which Application, and why: Argo CD's own text does not.
func TestATerminatedSyncIsTold(t *testing.T) {
	g := NewWithT(t)
	events, _ := newTestEvents(nil)
	recorder := NewRecorder(events.metrics, events, nil)
	recorder.Terminated(types.NamespacedName{Namespace: "argocd", Name: "prod"}, "uid-of-prod",
		"it was about to try aaaaaaa again, and step 3 of ApplicationSet argocd/guestbook may deploy bbbbbbb")
	all := taken(events)
	g.Expect(all).To(HaveLen(1))
	g.Expect(all[0].Reason).To(Equal("SyncTerminated"))
	g.Expect(all[0].Regarding.UID).To(Equal(types.UID("uid-of-prod")))
	g.Expect(all[0].Note).To(Equal("stepgate has terminated this sync: it was about to try aaaaaaa again, and step 3 of " +
		"ApplicationSet argocd/guestbook may deploy bbbbbbb. stepgate starts that next"))
}
