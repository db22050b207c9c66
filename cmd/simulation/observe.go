// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	"github.com/go-logr/logr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/record"
)

// Observation is one thing that somebody who watches a rollout can see. Player.Rehearse tells them, in their order.
type Observation struct {
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
func (w *world) tell(h Observation) {
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
		w.tell(Observation{Kind: Done, Application: m.name})
	}
	m.wasDone = done
}

// teller is a Recorder that tells whoever watches what the gate holds, and what it does not deny in audit mode. A
// repeated sync that is held delays nobody, and is not told.
type teller struct {
	*record.Recorder
	w *world
}

// Record is of webhook.Recorder.
func (t teller) Record(log logr.Logger, w *judge.Write, v judge.Verdict, exists bool) {
	t.Recorder.Record(log, w, v, exists)
	if kind := kindOf(w, v); kind != "" {
		t.w.tell(Observation{Kind: kind, Application: w.Target.Name, Text: v.Message(), Reason: string(v.Reason)})
	}
}

// kindOf is the Kind of a verdict; empty if it is not told.
func kindOf(w *judge.Write, v judge.Verdict) Kind {
	switch {
	case w.DryRun || v.Err != nil || v.Held && v.Reason == policy.AlreadySynced:
		return ""
	case v.Held:
		return Held
	case v.Outcome == policy.Deny && !v.Rejects():
		return WouldDeny
	}
	return ""
}
