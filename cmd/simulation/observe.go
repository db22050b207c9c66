package simulation

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

// Happening is one thing that somebody who watches a rollout can see. Player.Rehearse tells them, in their order.
type Happening struct {
	At   time.Duration
	Kind Kind
	// Application it is about; empty for what is about all.
	Application string
	// Text is a revision, a message or a status, as Kind says.
	Text string
	// Reason is the gate's.
	Reason string
	// Behind is the Application that an early start does not wait for.
	Behind string
}

// Kind says what happens.
type Kind string

// The kinds.
const (
	// Landed is a commit, whose revision is in Text.
	Landed Kind = "Landed"
	// Noticed is a comparison that finds another revision than the one before; the revision is in Text.
	Noticed Kind = "Noticed"
	// Recorded is a change of the ApplicationSet's status; Text is the new status, such as Pending.
	Recorded Kind = "Recorded"
	// Held is an operation of the ApplicationSet controller that stepgate holds. Text is for people.
	Held Kind = "Held"
	// WouldDeny is what stepgate does not deny in audit mode. Text is for people.
	WouldDeny Kind = "WouldDeny"
	// Refreshed is a request for a comparison by stepgate.
	Refreshed Kind = "Refreshed"
	// Started is an operation that begins to deploy the revision in Text.
	Started Kind = "Started"
	// Retried is another attempt of an operation that has failed.
	Retried Kind = "Retried"
	// TooEarly follows a Started or Retried of something that an Application of an earlier step has not completed:
	// Behind.
	TooEarly Kind = "TooEarly"
	// Failed is the end of an operation, after its last attempt.
	Failed Kind = "Failed"
	// Degraded is something that was deployed and does not get well.
	Degraded Kind = "Degraded"
	// Done is an Application that has deployed everything that git has, and is Healthy.
	Done Kind = "Done"
)

// tell tells whoever watches.
func (w *world) tell(h Happening) {
	if w.observe != nil {
		h.At = w.now
		w.observe(h)
	}
}

// tellIfDone tells that an Application has become done.
func (w *world) tellIfDone(m *member) {
	if w.observe == nil {
		return
	}
	done := w.done(m)
	if done && !m.wasDone {
		w.tell(Happening{Kind: Done, Application: m.name})
	}
	m.wasDone = done
}

// heard is a context in which the gate says what it decides to whoever watches.
func (w *world) heard() context.Context {
	if w.observe == nil {
		return context.Background()
	}
	return logr.NewContext(context.Background(), logr.New(listener{w: w}))
}

// listener takes the log lines of the gate. Those about a repeated sync are of the debug level.
type listener struct {
	w      *world
	values []any
}

// Init is of logr.LogSink.
func (listener) Init(logr.RuntimeInfo) {}

// Enabled is of logr.LogSink.
func (listener) Enabled(level int) bool { return level == 0 }

// Info is of logr.LogSink.
func (l listener) Info(_ int, line string, values ...any) {
	kind, told := map[string]Kind{"sync held": Held, "sync would be denied": WouldDeny}[line]
	if !told {
		return
	}
	of := map[any]string{}
	all := append(append([]any{}, l.values...), values...)
	for i := 0; i+1 < len(all); i += 2 {
		of[all[i]], _ = all[i+1].(string)
	}
	l.w.tell(Happening{Kind: kind, Application: of["application"], Text: of["message"], Reason: of["reason"]})
}

// Error is of logr.LogSink.
func (listener) Error(error, string, ...any) {}

// WithValues is of logr.LogSink.
func (l listener) WithValues(values ...any) logr.LogSink {
	l.values = append(append([]any{}, l.values...), values...)
	return l
}

// WithName is of logr.LogSink.
func (l listener) WithName(string) logr.LogSink { return l }
