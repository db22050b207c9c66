// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	eventWindow = 10 * time.Minute
	// eventRate and eventBurst bound the Events of one replica, whatever is denied, and once more those of exemptions.
	eventRate  = rate.Limit(2)
	eventBurst = 100
	// eventMemory bounds the remembered keys. The bucket lets 1,300 new ones in per window.
	eventMemory = 2000
	// eventNote is the API server's limit for a note, in bytes.
	eventNote   = 1024
	eventExpiry = 10 * time.Second
)

// ReportingController is who reports the Events of all gates.
const ReportingController = "stepgate.io/stepgate"

// EventCreator creates Events in the cluster.
type EventCreator interface {
	CreateEvent(ctx context.Context, event *eventsv1.Event) error
}

// Events posts Events on Applications, in the background: at most one per Application, reason and set of blockers in
// ten minutes, and no more than a token bucket allows. Exemptions have a bucket of their own. It counts and drops an
// Event that it cannot post; a decision never waits for one.
//
// It does not use client-go's recorder: that makes a series of the Events with the same first blocker, and a series
// keeps the first note. Argo CD's UI shows neither the count nor the new time of a series.
type Events struct {
	create   EventCreator
	metrics  *Metrics
	log      logr.Logger
	instance string
	clock    clock.PassiveClock
	// lane is for all Events but those of exemptions, which do not wait for others, and are not dropped because of
	// them.
	lane
	exemptions lane

	// posted are the keys of the Events of the window.
	posted *cache.LRUExpireCache
}

// lane holds Events that wait to be created.
type lane struct {
	bucket *rate.Limiter
	queue  chan queued
}

func newLane() lane {
	return lane{bucket: rate.NewLimiter(eventRate, eventBurst), queue: make(chan queued, eventBurst)}
}

// queued is an Event that waits to be created, and the key by which repetitions of it are known.
type queued struct {
	event *eventsv1.Event
	key   string
}

// NewEvents returns Events that creates with create. instance names this replica; clock is that of the window.
func NewEvents(
	create EventCreator, metrics *Metrics, log logr.Logger, instance string, clock clock.PassiveClock,
) *Events {
	return &Events{
		create: create, metrics: metrics, log: log, instance: instance, clock: clock,
		lane: newLane(), exemptions: newLane(),
		posted: cache.NewLRUExpireCacheWithClock(eventMemory, clock),
	}
}

// run creates queued Events until ctx is done.
func (e *Events) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-e.exemptions.queue:
			e.send(ctx, next)
		case next := <-e.queue:
			e.send(ctx, next)
		}
	}
}

// flush creates the Events that are queued, and waits for no others.
func (e *Events) flush(ctx context.Context) {
	for {
		select {
		case next := <-e.exemptions.queue:
			e.send(ctx, next)
		case next := <-e.queue:
			e.send(ctx, next)
		default:
			return
		}
	}
}

func (e *Events) send(ctx context.Context, next queued) {
	ctx, cancel := context.WithTimeout(ctx, eventExpiry)
	defer cancel()
	event := next.event
	if err := e.create.CreateEvent(ctx, event); err != nil {
		e.lose(next.key, "failed")
		e.log.Info("Event not created", "namespace", event.Namespace, "application", event.Regarding.Name, "reason",
			event.Reason, "problem", err.Error())
		return
	}
	e.count("sent")
}

// post queues the Event of a verdict, if it has one. over is the wait that ends with it.
func (e *Events) post(w *judge.Write, v judge.Verdict, over wait) {
	event := newEvent(w, v, over)
	if event == nil {
		return
	}
	key := dedupeKey(event, v)
	if !e.first(key) {
		e.count("repeated")
		return
	}
	lane := e.lane
	if v.Exempt() {
		lane = e.exemptions
	}
	e.queueIn(lane, event, key)
}

// terminated queues the Event of a sync of an Application that stepgate has terminated, and why.
func (e *Events) terminated(app types.NamespacedName, uid types.UID, why string) {
	app = argocd.ObjectName(app)
	e.queueIn(e.lane, eventOf(terminated, app.Namespace, reference("Application", app.Namespace, app.Name, uid),
		"stepgate has terminated this sync: "+why+". stepgate starts that next"), "")
}

// queueIn queues an Event in a lane, if there is room. key is forgotten if there is none.
func (e *Events) queueIn(lane lane, event *eventsv1.Event, key string) {
	now := e.clock.Now()
	if !lane.bucket.AllowN(now, 1) {
		e.lose(key, "dropped")
		return
	}
	event.EventTime = metav1.NewMicroTime(now)
	event.ReportingInstance = e.instance
	select {
	case lane.queue <- queued{event: event, key: key}:
	default:
		e.lose(key, "dropped")
	}
}

// lose counts an Event that was not posted, and forgets it, so that the next denial can post it.
func (e *Events) lose(key, result string) {
	e.count(result)
	e.posted.Remove(key)
}

func (e *Events) count(result string) {
	e.metrics.events.WithLabelValues(result).Inc()
}

// first reports whether the key was not posted within the window, and remembers it.
func (e *Events) first(key string) bool {
	if _, posted := e.posted.Get(key); posted {
		return false
	}
	e.posted.Add(key, nil, eventWindow-1) // an Event exactly one window later is posted
	return true
}

// dedupeKey tells Events apart: by who is meant, who holds that up, and what there is to do about it.
func dedupeKey(event *eventsv1.Event, v judge.Verdict) string {
	parts := []string{string(event.Regarding.UID), event.Regarding.Name, event.Reason}
	if event.Reason == started.Reason { // each sync that stepgate starts is another one
		parts = append(parts, event.Note)
	}
	for _, b := range v.Blockers {
		parts = append(parts, b.Application, string(b.Reason), b.Next)
	}
	if v.Root != nil {
		parts = append(parts, v.Root.Text)
	}
	return strings.Join(parts, "\n")
}

// newEvent is the Event of a verdict; nil when there is nothing to say.
func newEvent(w *judge.Write, v judge.Verdict, over wait) *eventsv1.Event {
	kind, note := worded(w, v, over)
	if note == "" {
		return nil
	}
	on := regarding(w)
	event := eventOf(kind, on.Namespace, on, note)
	if len(v.Blockers) > 0 {
		b, order := &v.Blockers[0], w.Namespace
		if v.Set != nil {
			order = v.Set.Namespace
		}
		name := argocd.ObjectName(types.NamespacedName{Namespace: cmp.Or(b.Namespace, order), Name: b.Application})
		related := reference("Application", name.Namespace, name.Name, "")
		if set, is := policy.SetNamed(name.Name); is {
			related = reference("ApplicationSet", name.Namespace, set, "")
		}
		event.Related = &related
	}
	return event
}

// eventOf is an Event of a kind on an object.
func eventOf(kind Kind, namespace string, on corev1.ObjectReference, note string) *eventsv1.Event {
	event := &eventsv1.Event{
		Type: kind.Type, Reason: kind.Reason, Action: kind.Action, ReportingController: ReportingController,
		Note: strings.ToValidUTF8(note[:min(len(note), eventNote)], ""), Regarding: on,
	}
	event.Namespace = namespace
	event.GenerateName = strings.TrimRight(on.Name[:min(len(on.Name), 200)], ".-") + "-"
	return event
}

// worded is the kind and the text of the Event of a verdict; the text is empty when there is nothing to say.
func worded(w *judge.Write, v judge.Verdict, over wait) (kind Kind, note string) {
	switch {
	case v.Err != nil:
		return gateError, "stepgate could not judge this sync: it could not read from the API server; see stepgate's log"
	case v.Reason == policy.AlreadySynced:
		return kind, "" // nobody has to do anything
	case v.Held:
		return held, v.HoldNote()
	case v.Reason == policy.Bypassed:
		return bypassed, "the gate was bypassed: " + v.Settings.Bypass
	case v.Reason == policy.GateOff:
		return gateOff, "the gate is off for " + policy.ClientText(policy.Called(v.ApplicationSet)) + ": its annotation " +
			settings.ModeAnnotation + " is off"
	case v.Exempt():
		return exclusion, "stepgate did not wait for " + v.Settings.Exclusion
	case v.Initiator == judge.InitiatorStepgate && v.Outcome == policy.Allow:
		return started, startNote(w, v, over)
	case v.Initiator == judge.InitiatorStepgate:
		return kind, "" // nobody has asked for it, and it is tried again
	case v.Outcome == policy.Allow && over.took > 0:
		return released, releaseNote(v, over)
	case v.Outcome == policy.Deny && v.Rejects():
		return denied, v.Message()
	case v.Outcome == policy.Deny:
		return wouldBeDenied, v.Message()
	}
	return kind, ""
}

// regarding is the Application, with its UID: without one, Argo CD's UI does not show the Event. An Application that
// is being created may never exist, so the Event goes to its ApplicationSet, or to its parent.
func regarding(w *judge.Write) corev1.ObjectReference {
	if w.Created && len(w.Owners) > 0 {
		owner := w.Owners[0]
		if parent, is := owner.Parent(); is {
			return reference("Application", owner.Namespace, parent, "")
		}
		return reference("ApplicationSet", owner.Namespace, owner.Name, owner.UID)
	}
	return reference("Application", w.Namespace, w.Target.Name, w.UID)
}

func reference(kind, namespace, name string, uid types.UID) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "argoproj.io/v1alpha1", Kind: kind, Namespace: namespace, Name: name, UID: uid,
	}
}

// startNote says that stepgate starts a sync, of what, and for how long it has waited if that was seen.
func startNote(w *judge.Write, v judge.Verdict, over wait) string {
	note := fmt.Sprintf("stepgate starts this sync of %s of %s to %s: it may start, and Argo CD has "+
		"not started it", policy.StepName(v.Step), policy.Called(v.ApplicationSet), policy.Revisions(w.Target.Wanted))
	if over.took > 0 {
		note += fmt.Sprintf(". It has waited for %s", max(over.took, time.Second).Round(time.Second))
		if over.names != "" {
			note += ", last for " + over.names
		}
	}
	return note
}

// releaseNote says that a sync may start, and why only now.
func releaseNote(v judge.Verdict, over wait) string {
	note := fmt.Sprintf("%s of %s may sync now: it has waited for %s", policy.StepName(v.Step),
		policy.Called(v.ApplicationSet), max(over.took, time.Second).Round(time.Second))
	if over.names != "" {
		note += ", last for " + over.names
	}
	return note
}
