// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/webhook/ledger"
)

// quiet is how long nothing but what is periodic happens at the end of a history. It is longer than the longest
// back-off of the ApplicationSet controller, 1000 s, and what has to come after that.
const quiet = 25 * time.Minute

// Result is what came of one history.
type Result struct {
	Early []Early
	// Limits are early starts that no gate can prevent: see Early.
	Limits []Early
	// Stuck are the Applications that hang because of the gate.
	Stuck []Stuck
	// Incomplete are the Applications that were not rolled out in the end, for whatever reason.
	Incomplete []string
	// Starts are the syncs that had waited for a condition. Those that were more than a minute late are in Late, too.
	Starts, Late []Start
	// StartedBySelf counts the syncs that stepgate has started, and Waited is how long syncs took to start that were due,
	// where it does.
	StartedBySelf int
	Waited        []time.Duration
	// Refreshes counts the comparisons that stepgate has asked for.
	Refreshes int
	// Conditions are those that the history has had.
	Conditions []string
	// Held are the Applications that are not done, and that the gate holds back for a reason: something of an earlier
	// step is not done, or they would start early.
	Held []string
	// Rollouts are those that the ledger has of the first ApplicationSet.
	Rollouts []ledger.Rollout
	// Stranded are the Applications that Argo CD alone would have rolled out, and that are not rolled out even when the
	// gate is taken away in the end.
	Stranded []string
}

// Player plays histories, one after the other.
type Player struct{ records records }

// NewPlayer returns a Player.
func NewPlayer() *Player { return &Player{records: newRecords()} }

// Play plays a history with the gate.
//
// An Application is stuck if, after a quiet time of 25 minutes, it is not done, and
//   - Argo CD alone has done it in the same history,
//   - everything of earlier steps is done: the gate does not hold it back for something that nobody is going to do, and
//   - it gets done when the gate is taken away and another quiet time passes, without starting early.
//
// Done means that what git and the generator want is deployed, by a sync that succeeded, and Healthy. Drift does not
// count.
func (p *Player) Play(s *Scenario, trace func(time.Duration, string)) Result {
	w := newWorld(s, trace)
	gate := newStepgate(w, p.records)
	w.gate = gate
	if s.Start && w.onTrain() {
		w.watchDue()
	}
	r := Result{Incomplete: w.run(w.schedule())}
	w.overdue()
	r.Early, r.Limits, r.Starts, r.Conditions = w.early, w.limits, w.starts, w.conditions.had()
	r.StartedBySelf, r.Waited, r.Refreshes = w.startsBySelf, w.waited, w.refreshes
	r.Late, r.Rollouts = w.late(), gate.kept.rollouts(w.families[0])
	if w.exhausted() {
		return w.endless(r)
	}
	if len(r.Incomplete) == 0 {
		return r
	}
	suspects := w.suspects(&r)
	if len(suspects) == 0 {
		return r
	}
	alone := newWorld(s, nil)
	alone.gate = noGate{}
	for _, name := range alone.run(alone.schedule()) {
		delete(suspects, name)
	}
	if len(suspects) > 0 {
		p.takeAway(w, suspects, &r)
	}
	return r
}

// endless is the result of a history in which somebody went round in circles, and which was cut off then. Argo CD does
// so by itself with an Application that fails validation and is OutOfSync: it does not write the spec, finds again that
// the spec has changed, and records it as Waiting; its step opens, and it records it as Pending; each of the two wakes
// it up (argo-cd v3.5.7, UpdateApplicationSetApplicationStatus and shouldRequeueForApplicationSet). Anything else that
// goes round without the gate as well is not the gate's fault, either.
func (w *world) endless(r Result) Result {
	alone := newWorld(w.scenario, nil)
	alone.gate = noGate{}
	alone.run(alone.schedule())
	if slices.ContainsFunc(w.names, w.isInvalid) || alone.number > alone.most/2 {
		r.Stranded = append(r.Stranded, "everything: Argo CD goes round in circles")
	} else {
		r.Stuck = append(r.Stuck, Stuck{Target: "everything", Kind: "endless", Refusal: "somebody goes round in circles"})
	}
	return r
}

// Alone plays a history without the gate.
func (*Player) Alone(s *Scenario, trace func(time.Duration, string)) Result {
	w := newWorld(s, trace)
	w.gate = noGate{}
	return Result{Incomplete: w.run(w.schedule()), Early: w.early, Limits: w.limits}
}

// suspects are the Applications that the gate may hold up for no reason. Where it has refused nothing, there are none.
func (w *world) suspects(r *Result) map[string]Stuck {
	found := map[string]Stuck{}
	for _, name := range r.Incomplete {
		switch m := w.members[name]; {
		case w.refusals == 0:
		case w.waits(m), w.scenario.Refuses && slices.Contains([]string{"deletion", "B1"}, w.stuckKind(m).Kind):
			// While a write is denied, the ApplicationSet controller deletes nothing, and a label in that write is not
			// written.
			r.Held = append(r.Held, name)
		default:
			found[name] = w.stuckKind(m)
		}
	}
	return found
}

// takeAway goes on without the gate, to see whether it is the gate that holds the suspects up.
func (p *Player) takeAway(w *world, suspects map[string]Stuck, r *Result) {
	w.gate = noGate{}
	w.logf("* the gate is taken away")
	after := w.run(w.now)
	for _, name := range w.names {
		suspect, ok := suspects[name]
		switch {
		case !ok:
		case slices.ContainsFunc(w.early[len(r.Early):], func(e Early) bool { return e.Target == name }):
			r.Held = append(r.Held, name)
		case slices.Contains(after, name):
			r.Stranded = append(r.Stranded, name)
		default:
			r.Stuck = append(r.Stuck, suspect)
		}
	}
}

// waits reports whether somebody has terminated its sync of what it is to have, or an Application cannot be hydrated, or
// something of an earlier step is not done, or failed in its last sync, or cannot be hydrated, or has drifted and has no
// stamp: that, too, is for somebody to look at, with or without a gate, and so is an Application that cannot be written.
// The same holds for a condition that does not end by itself, also of another Application, to which Argo CD has given a
// slot of the step, or whose failures are too many.
func (w *world) waits(m *member) bool {
	if w.isStopped(m) || m.hydrationFails || w.waitsFor(m) != "" || w.waitsForOthers(m) ||
		slices.ContainsFunc(w.names, w.isInvalid) {
		return true
	}
	step := m.generated
	if live := stepOf(w.api.apps[m.name]); live > 0 {
		step = min(step, live)
	}
	return slices.ContainsFunc(w.names, func(name string) bool {
		e := w.members[name]
		if e.generated == 0 || e.family != m.family {
			return false
		}
		pending := w.isPending(name) && w.waitsFor(e) != ""
		_, budget := w.conditions.texts["max-failures"]
		return e.generated == m.generated && (pending && w.hasSlots(m.generated) || budget && w.triesAgain(name)) ||
			max(e.generated, stepOf(w.api.apps[name])) < step &&
				(!w.done(e) || w.failed(name) || e.hydrationFails || pending || w.unknown(name))
	})
}

// isStopped reports whether somebody has terminated the sync of an Application to what its branch has: it is for somebody
// to start that again.
func (w *world) isStopped(m *member) bool {
	app := w.api.apps[m.name]
	if app == nil || m.truth.stopped == "" {
		return false
	}
	heads := w.heads(m)
	return m.truth.stopped == deploying(w.contentOf(&app.Spec, heads), heads)
}

// triesAgain reports whether an operation of an Application has failed, and is tried again.
func (w *world) triesAgain(name string) bool {
	state := w.api.apps[name].Status.OperationState
	return state != nil && state.Phase == synccommon.OperationRunning && state.RetryCount > 0
}

// hasSlots reports whether a step has a maxUpdate.
func (w *world) hasSlots(step int) bool {
	steps := w.scenario.steps()
	return step <= len(steps) && steps[step-1].MaxUpdate != nil
}

// isInvalid reports whether an Application fails validation: it is not written.
func (w *world) isInvalid(name string) bool {
	return w.members[name].invalid && w.members[name].generated > 0
}

// unknown reports whether nobody knows what an Application was last deployed with, which has drifted: its last operation
// has no stamp, and nothing shows it Synced.
func (w *world) unknown(name string) bool {
	app := w.api.apps[name]
	return app != nil && !stamped(app) && app.Status.Sync.Status != argo.SyncStatusCodeSynced
}

func (w *world) failed(name string) bool {
	state := w.full(name)
	return state != nil && (state.Phase == synccommon.OperationFailed || state.Phase == synccommon.OperationError)
}

// run lets the events happen, and then time pass, until all is done, nothing changes any more, or the quiet time is
// over. It returns what is not done.
func (w *world) run(last time.Duration) []string {
	w.advance(last - w.now)
	idle := 0
	for w.now < last+quiet && len(w.queue) > 0 && !w.still(last) && !w.exhausted() {
		w.advance(4*time.Second + (w.now-last)/16)
		if len(w.undone()) > 0 || w.busy() {
			idle = 0
			continue
		}
		if idle++; idle == 2 {
			return nil
		}
	}
	return w.undone()
}

// still reports whether everything periodic has come round without changing anything. If the ApplicationSet controller
// was refused, it also has to have tried again long after, and to have no more tries to come.
func (w *world) still(last time.Duration) bool {
	since := max(w.api.changed, last)
	for _, f := range w.families {
		if c := f.controller; c.failures > 0 && c.passed < since+5*time.Minute || c.wakesAt > 0 && w.scenario.Requeue == 0 &&
			!c.polls {
			return false
		}
	}
	return w.now > since+7*time.Minute
}

func (w *world) undone() []string {
	var all []string
	for _, name := range w.names {
		if !w.done(w.members[name]) {
			all = append(all, name)
		}
	}
	return all
}

// busy reports whether an operation is asked for or under way.
func (w *world) busy() bool {
	for _, app := range w.api.apps {
		if app.Operation != nil {
			return true
		}
	}
	return false
}
