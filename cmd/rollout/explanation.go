// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/record"
)

// Outcome is what would become of an operation now.
type Outcome string

// The outcomes.
const (
	// Allowed: the sync starts.
	Allowed Outcome = "Allowed"
	// Held: the operation is taken out of the write, and the sync starts when its turn comes.
	Held Outcome = "Held"
	// Refused: the writer gets an error.
	Refused Outcome = "Refused"
	// Audited: it is out of order, and is let through, because the gate only records.
	Audited Outcome = "Audited"
	// NotGated: the gate has no say in it.
	NotGated Outcome = "NotGated"
	// Idle: the Application has been synced in its turn, and no sync of it is to come.
	Idle Outcome = "Idle"
	// Running: an operation runs already. It was let through.
	Running Outcome = "Running"
)

// Explanation says whether an operation would be let through now, and why.
type Explanation struct {
	metav1.TypeMeta `json:",inline"`
	Namespace       string `json:"namespace"`
	Application     string `json:"application"`
	ApplicationSet  string `json:"applicationSet,omitempty"`
	// Step is the number of its step, of so many; 0 if it is in none. Wave is the sync wave that the step is; absent for a
	// step of RollingSync.
	Step  int  `json:"step"`
	Wave  *int `json:"wave,omitempty"`
	Steps int  `json:"steps"`
	// Health and Sync describe the Application.
	Health string `json:"health"`
	Sync   string `json:"sync"`
	// By is who writes the operation.
	By      Writer  `json:"by"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Means says what the reason stands for, as docs/decisions.md does, and Do what to do about it.
	Means string `json:"means,omitempty"`
	Do    string `json:"do,omitempty"`
	// Needs are what the sync waits for, followed to what waits for nothing else, and Own what others wait for about the
	// Application itself.
	Needs []Need `json:"needs,omitempty"`
	Own   []Need `json:"own,omitempty"`
	// Blockers are all Applications of earlier steps that are not done, in the order in which to act.
	Blockers []Blocker `json:"blockers,omitempty"`
	// Conditions are those of its step: first all that do not hold, whatever else the sync waits for, then those that
	// hold.
	Conditions []Condition `json:"conditions,omitempty"`
	// Revisions are those that the sync would deploy, one for each source. Pinned says that the operation names them,
	// or that stepgate writes them into it.
	Revisions []string `json:"revisions,omitempty"`
	Pinned    bool     `json:"pinned,omitempty"`
	// Deployed is what its last full sync deployed, as its stamp says, and what has changed since.
	Deployed string `json:"deployed,omitempty"`
	// Says is what Argo CD itself says of the Application, where something is wrong with it.
	Says string `json:"says,omitempty"`
	// Message is the text that the writer reads.
	Message string `json:"message,omitempty"`
	// Settings says by which settings this was judged, and Exempt what they let through.
	Settings string   `json:"settings"`
	Exempt   []string `json:"exempt,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Starves says that newer commits keep taking the place of what waits for a condition, and what to do.
	Starves string `json:"starves,omitempty"`
	// Candidates are what it could deploy, newest first, as the gate says; empty where pinning goes not by candidates, or the
	// gate was not asked.
	Candidates Candidates `json:"candidates,omitempty"`
	// Gate is the answer of the gate itself to a server dry run; empty if it was not asked.
	Gate   string  `json:"gate,omitempty"`
	Events []Event `json:"events,omitempty"`
	// asked is the operation that is judged.
	asked *argo.Operation
	// member is what the Application is called by what orders it.
	member string
	// waves lists the waves of what orders the Application.
	waves waves
	// older says that the Application may deploy older candidates than what it was last compared with.
	older bool
	// noGate says why no gate answers; empty if one does, or nobody knows.
	noGate string
}

// HasCandidates reports whether the Application may deploy older candidates than what it was last compared with: the gate
// knows which.
func (e *Explanation) HasCandidates() bool { return e.older && e.Step > 1 }

// Event is an Event of the gate about the Application.
type Event struct {
	Time   metav1.Time `json:"time"`
	Reason string      `json:"reason"`
	Note   string      `json:"note"`
}

// DeepCopyObject implements runtime.Object.
func (e *Explanation) DeepCopyObject() runtime.Object {
	c := *e
	return &c
}

// Asked is the operation that is judged.
func (e *Explanation) Asked() *argo.Operation { return e.asked }

// Waits reports whether the operation does not go ahead now.
func (e *Explanation) Waits() bool { return e.Outcome == Held || e.Outcome == Refused }

// Names says which revisions the operation names, before stepgate pins it; compared are the revisions of the last
// comparison.
func (e *Explanation) Names(op *argo.Operation, compared []string) {
	e.Revisions = compared
	if op.Sync == nil {
		return
	}
	if named := op.Sync.Revisions; len(named) > 0 {
		e.Revisions, e.Pinned = named, true
	} else if op.Sync.Revision != "" {
		e.Revisions, e.Pinned = []string{op.Sync.Revision}, true
	}
}

// Judged fills in the answer that the gate would give.
func (e *Explanation) Judged(answer *webhook.Answer) {
	d := answer.Decision
	e.older, e.noGate = answer.Settings.Candidates, answer.Settings.NoGate
	e.Step, e.Wave = e.waves.number(d.Step), waveOf(d.Step)
	e.Reason, e.Message, e.Exempt, e.Problems = string(d.Reason), answer.Message, exempt(answer.Settings),
		answer.Settings.ProblemTexts()
	if len(answer.Pinned) > 0 {
		e.Revisions, e.Pinned = answer.Pinned, true
	}
	switch {
	case d.Reason == policy.AlreadySynced && d.Detail == "" && e.By == ApplicationSetController:
		e.Outcome, e.Message = Idle, ""
	case answer.Held:
		e.Outcome = Held
	case answer.Rejected():
		e.Outcome = Refused
	case d.Outcome == policy.Deny:
		e.Outcome = Audited
		e.Message = d.Message()
	case d.Outcome == policy.NotGated:
		e.Outcome = NotGated
	default:
		e.Outcome = Allowed
	}
	namespace, set, _ := strings.Cut(d.ApplicationSet, "/")
	advice := AdviceOn(d.Reason, Subject{
		Application: e.Application, Namespace: namespace, ApplicationSet: set, Step: policy.StepNumber(d.Step),
	})
	e.conditions(answer)
	e.Means = advice.Means
	if len(d.Blockers) == 0 {
		if e.Do = advice.Do; d.Next != "" {
			e.Means, e.Do = d.Detail, d.WayOut()
		}
		return
	}
	e.Means = ""
	for _, b := range d.Blockers {
		e.Blockers = append(e.Blockers, blocker(b, e.waves))
	}
	slices.SortStableFunc(e.Blockers, func(a, b Blocker) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.effort(), b.effort()))
	})
}

// conditions fills in the conditions of the step.
func (e *Explanation) conditions(answer *webhook.Answer) {
	if answer.Input.ApplicationSet == nil || e.Outcome == NotGated {
		return
	}
	waits := e.Outcome != Idle
	var not []policy.Decision
	if waits {
		not = policy.Unmet(answer.Input)
	}
	if answer.Reason == policy.MaxUpdateReached {
		not = append(not, answer.Decision)
	}
	for _, d := range not {
		e.Conditions = append(e.Conditions, unmet(d))
	}
	e.Starves = starves(answer.Input, not, answer.Settings)
	e.Conditions = append(e.Conditions, met(answer.Input, answer.Decision, waits, not)...)
}

// effort orders the blockers of a step: first those about which somebody has to do something.
func (b *Blocker) effort() int {
	switch {
	case b.Reason == string(policy.OperationInProgress) || b.Detail == "Progressing":
		return 1
	case b.ends.Stale():
		return 2
	}
	return 0
}

// EventsOf keeps the Events of the gate, the newest first.
func EventsOf(list []eventsv1.Event) []Event {
	var all []Event
	for i := range list {
		e := &list[i]
		if e.ReportingController != record.ReportingController {
			continue
		}
		at := metav1.Time{Time: e.EventTime.Time}
		if e.EventTime.IsZero() {
			at = e.CreationTimestamp
		}
		all = append(all, Event{Time: at, Reason: e.Reason, Note: e.Note})
	}
	slices.SortFunc(all, func(a, b Event) int { return b.Time.Compare(a.Time.Time) })
	return all
}
