package webhook

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/stepgate/stepgate/policy"
)

// Recorder tells operators the decisions: one log line and one count per decision, and Events for the owner of an
// Application. It never delays or changes a decision.
type Recorder struct {
	metrics  *Metrics
	events   *Events
	blocked  *Blocked
	unlisted *unlisted
}

// NewRecorder returns a Recorder that counts with metrics, posts with events and remembers denials in blocked.
func NewRecorder(metrics *Metrics, events *Events, blocked *Blocked) *Recorder {
	return &Recorder{metrics: metrics, events: events, blocked: blocked, unlisted: newUnlisted(metrics)}
}

// Run posts Events until ctx is done.
func (r *Recorder) Run(ctx context.Context) {
	r.events.run(ctx)
}

// Record records one verdict. A server dry-run leaves a debug line in the log and nothing else. Of an Application that does not
// exist, nothing is remembered, and nobody is told.
func (r *Recorder) Record(log logr.Logger, w *write, v verdict, exists bool) {
	logVerdict(log, w, v)
	if w.dryRun {
		return
	}
	for _, p := range v.settings.Problems {
		r.metrics.annotations.WithLabelValues(p.Annotation).Inc()
	}
	outcome, reason := v.outcome(), string(v.Reason)
	if v.err != nil {
		reason = "ReadError"
	}
	r.metrics.decisions.WithLabelValues(outcome, reason, v.settings.Mode.String(), v.initiator).Inc()
	r.metrics.latency.WithLabelValues(outcome).Observe(v.took.Seconds())
	if v.held {
		r.metrics.changes.WithLabelValues("held", reason).Inc()
	}
	if !exists {
		r.metrics.unknown.Inc()
		return
	}
	r.unlisted.note(log, w, v.initiator)
	r.events.post(w, v, r.blocked.note(w, v))
}

// logVerdict writes one line per decision: at info level where an operator may want to act on it, else at debug level.
func logVerdict(log logr.Logger, w *write, v verdict) {
	annotations := v.annotations()
	for _, key := range []string{"decision", "reason", "mode", "applicationset", "step", "blockers", "bypass", "excluded"} {
		if value, ok := annotations[key]; ok {
			log = log.WithValues(key, value)
		}
	}
	log = log.WithValues("initiatedBy", printable(w.initiatedBy), "took", v.took.String())
	var problems []string
	for _, p := range v.settings.Problems {
		problems = append(problems, p.Annotation+": "+p.Text)
	}
	if len(problems) > 0 {
		log = log.WithValues("malformedAnnotations", problems)
	}
	quiet := log.V(1)
	switch {
	case w.dryRun:
		quiet.Info("server dry-run judged")
	case v.err != nil && v.rejects():
		log.Error(v.err, "no decision, answered 503", "failure", v.failure())
	case v.err != nil:
		log.Error(v.err, "no decision, admitted in audit mode", "failure", v.failure())
	case v.held && v.Reason == policy.AlreadySynced:
		quiet.Info("sync held", "message", v.message())
	case v.held:
		log.Info("sync held", "message", v.message())
	case v.rejects():
		log.Info("sync denied", "message", v.message())
	case v.Outcome == policy.Deny:
		log.Info("sync would be denied", "message", v.message())
	case v.Reason == policy.Bypassed:
		log.Info("gate bypassed")
	case v.Reason == policy.GateOff || len(v.settings.Problems) > 0 || v.settings.Bypass != "" || v.settings.Exclusion != "":
		log.Info("sync admitted")
	default:
		quiet.Info("sync admitted")
	}
}
