// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
)

// Recorder tells operators the decisions: one log line and one count per decision, and Events for the owner of an
// Application. It never delays or changes a decision.
type Recorder struct {
	metrics  *Metrics
	events   *Events
	blocked  *Waiting
	unlisted *unlisted
}

// NewRecorder returns a Recorder that counts with metrics, posts with events and remembers denials in blocked.
func NewRecorder(metrics *Metrics, events *Events, blocked *Waiting) *Recorder {
	return &Recorder{metrics: metrics, events: events, blocked: blocked, unlisted: newUnlisted(metrics)}
}

// Waiting is what waits.
func (r *Recorder) Waiting() *Waiting { return r.blocked }

// Run posts Events until ctx is done.
func (r *Recorder) Run(ctx context.Context) {
	r.events.run(ctx)
}

// Flush posts the Events that are queued, and returns.
func (r *Recorder) Flush(ctx context.Context) { r.events.flush(ctx) }

// Record records one verdict. A server dry-run leaves a debug line in the log and nothing else. Of an Application that
// does not exist, nothing is remembered, and nobody is told.
func (r *Recorder) Record(log logr.Logger, w *judge.Write, v judge.Verdict, exists bool) {
	logVerdict(log, w, v)
	if w.DryRun {
		return
	}
	for _, p := range v.Settings.Problems {
		r.metrics.annotations.WithLabelValues(p.Annotation).Inc()
	}
	outcome, reason := v.Label(), string(v.Reason)
	if v.Err != nil {
		reason = "ReadError"
	}
	r.metrics.decisions.WithLabelValues(outcome, reason, v.Settings.Mode.String(), v.Initiator).Inc()
	r.metrics.latency.WithLabelValues(outcome).Observe(v.Took.Seconds())
	if v.Held {
		r.metrics.changes.WithLabelValues("held", reason).Inc()
	}
	if !exists {
		r.metrics.unknown.Inc()
		return
	}
	r.unlisted.note(log, w, v.Initiator)
	r.events.post(w, v, r.blocked.note(w, v))
}

// StartDone is start.Observer.
func (r *Recorder) StartDone(result string) { r.metrics.StartDone(result) }

// Terminated is start.Observer.
func (r *Recorder) Terminated(app types.NamespacedName, uid types.UID, why string) {
	r.events.terminated(app, uid, why)
}

// Pinned counts an operation that was pinned. by says to what.
func (r *Recorder) Pinned(by string) { r.metrics.changes.WithLabelValues("pinned", by).Inc() }

// Consequent reports whether something comes of a verdict beside the answer, the log and the counts.
func (r *Recorder) Consequent(w *judge.Write, v judge.Verdict) bool {
	return v.Err != nil || v.Outcome == policy.Deny || v.Exempt() || r.blocked.Waits(w.UID) ||
		v.Initiator == judge.InitiatorStepgate
}

// logVerdict writes one line per decision: at info level where an operator may want to act on it, else at debug level.
func logVerdict(log logr.Logger, w *judge.Write, v judge.Verdict) {
	annotations := v.AuditAnnotations()
	for _, key := range []string{"decision", "reason", "mode", "applicationset", "step", "blockers", "bypass",
		"excluded"} {
		if value, ok := annotations[key]; ok {
			log = log.WithValues(key, value)
		}
	}
	log = log.WithValues("initiatedBy", policy.ClientText(w.InitiatedBy), "took", v.Took.String())
	var problems []string
	for _, p := range v.Settings.Problems {
		problems = append(problems, p.Annotation+": "+p.Text)
	}
	if len(problems) > 0 {
		log = log.WithValues("malformedAnnotations", problems)
	}
	quiet := log.V(1)
	switch {
	case w.DryRun:
		quiet.Info("server dry-run judged")
	case v.Err != nil && v.Rejects():
		log.Error(v.Err, "no decision, answered 503", "failure", v.Failure())
	case v.Err != nil:
		log.Error(v.Err, "no decision, admitted in audit mode", "failure", v.Failure())
	case v.Held && v.Reason == policy.AlreadySynced:
		quiet.Info("sync held", "message", v.Message())
	case v.Held:
		log.Info("sync held", "message", v.Message())
	case v.Rejects():
		log.Info("sync denied", "message", v.Message())
	case v.Outcome == policy.Deny:
		log.Info("sync would be denied", "message", v.Message())
	case v.Reason == policy.Bypassed:
		log.Info("gate bypassed")
	case v.Reason == policy.GateOff || len(v.Settings.Problems) > 0 || v.Settings.Bypass != "" ||
		v.Settings.Exclusion != "":
		log.Info("sync admitted")
	default:
		quiet.Info("sync admitted")
	}
}
