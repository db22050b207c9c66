// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// sameMoment is how close two changes of different repositories may land for them to have no order. One second is the
// resolution of Argo CD's times.
const sameMoment = 2 * time.Second

// truth is how far an Application has come, by its components: its sources, in their order, the values and the
// destination of the template, and the parameter that the generator gives to it alone.
type truth struct {
	// reached is the latest state that the Application has completed, or needs nothing of.
	reached states
	// completed are the states, by component, that it has completed or needs nothing of. A later one says nothing of an
	// earlier one.
	completed [6]map[int]bool
	// ran is the latest state that it has started to sync.
	ran states
	// admitting is of the operation that runs, or ran last, and latest of the one that was written last. One that is
	// written while another one is tried again and again does not replace that.
	admitting
	latest admitting
	// had are the contents of its sources that it has completed, by their numbers, and gone back from or not.
	had [2]map[int]bool
	// returns is what it has gone back from.
	returns
	// synced is what the last full sync that succeeded has deployed.
	synced content
	// failed is what the last sync has failed at, all its attempts included; nothing if it succeeded, or runs.
	failed string
	// stopped is what somebody has terminated its last full sync of.
	stopped string
	// ended is what its syncs that succeeded have deployed, in their order.
	ended []string
	// full is how the last full sync ended.
	full *argo.OperationState
	// refused is the last refusal of an operation, and what was refused.
	refused      Verdict
	refusedWrite Write
}

// admitting is how an operation was admitted.
type admitting struct {
	// admitted is when, and admittedStep the step that its Application had then.
	admitted     time.Duration
	admittedStep int
	// verdict is what the gate said then, and seen what it could see.
	verdict Verdict
	seen    sight
	// resolvedAt is when Argo CD had last resolved a branch to a revision before that.
	resolvedAt map[string]time.Duration
	// back says that it is a user's, and does not name what Argo CD compared the Application with.
	back bool
	// orphan says that it had no ApplicationSet then: nobody has adopted it yet.
	orphan bool
	// bypassed says that everything was let through then.
	bypassed bool
}

// Early is a sync that started before its turn.
//
// An Application P starts something when the application controller has resolved the revisions of an operation of P,
// and one of its components (a source, the values or the destination of the template, or its own parameter) is at a
// newer state than P has ever run, with a content that differs from the states before. The change is the push, or the
// change of the template, that brought that content. The start is early if an Application E of an earlier step has not
// completed the change: of a component that both share, the very state that P starts, or one since the change at which
// P has the same content; and of the others the last state that had landed two seconds before the change, or a later
// one.
//
// E has completed a state if, at any time since that state landed, E had the content of that state deployed, by a sync
// that succeeded, and was Healthy. Whether Argo CD or the gate knew does not count. A later state says nothing of an
// earlier one: E may have skipped it, or have failed at it. An Application that fails or drifts after it was done has
// been done. But who has E go back to a revision that E was asked for before, or to older values, takes back what E was
// asked for since, from the moment of that operation on, whatever becomes of it: then only what E completes after a sync
// that succeeded counts. What was admitted before that moment may start. States that a branch points to once more are new ones.
//
// E is of an earlier step if it exists, is generated, and its step was lower than the step of P, by its live label as
// by the generator, already two seconds before the operation was admitted. With tracks, it is not if the generator gives
// it another one.
//
// A sync is never early if P is in the first step, or has run that state before, or has it deployed, or if it is what
// the last sync of P that succeeded has deployed: P heals drift, or goes back after a sync that failed. A user may also
// go back to a content of a source that P has completed before, unless Argo CD shows it as the next change. The branch
// may point there once more, and nobody has noticed yet: the gate sees a rollback, and P is safe with what it has
// completed. Every other sync by a user counts.
//
// A user may also name a content of a source that every E has completed before, whenever that was, and not gone back
// from, unless Argo CD shows it as the next change. With pin=candidate, such a content counts, whenever that was: the
// train goes by revisions, and a branch that comes back to one has no other. Beside a change of P alone, it need not be
// the newest that had landed before that.
//
// In a chain of ApplicationSets, a start is early if an Application of what comes right before has not completed what had
// landed in its own sources two seconds before the change, or a later state; or if it is not Healthy, or has an
// operation, as the API server has it when the operation of P is admitted.
//
// A start is early, too, if a condition of the step of P does not hold when the operation is admitted: the step is
// paused, an Application of an earlier step has not been deployed and Healthy for the soak time, nobody has approved
// these revisions for the step, an object that the step waits for does not say yes to them, or there is none at that
// moment, more Applications of the step have failed at them than may, or the sync window is closed. What is deployed, or what a user goes back to, is never early. With a bypass, nothing is. A time in which an
// Application was not Healthy counts if Argo CD has noticed. With pin=candidate, an Application of an earlier step may
// have gone on: it had what P starts deployed and Healthy that long ago, and has not failed and not been Degraded or
// Missing since.
//
// Some kinds of early start are counted apart, as limits.
//
// A recorded revision: from 3.6 on the ApplicationSet controller names the revisions that it has recorded, in the first
// step, too, which nobody judges. E then completes the change together with an older state of a source, and P starts
// what E has completed.
//
// Gone on: a failure counts against the budget only while Argo CD compares the failed Application with what it has
// failed at, and hydrates nothing newer for it. Who has started a sync by hand is known only while nothing else is
// deployed. Moved: Argo CD's history does not have destinations, and a new one does not make the soak time start again; nor do manifests
// that somebody brings along, as drift does not.
//
// Hooks left out: in the first step somebody syncs all resources of a change one by one, which runs no hooks. The
// Application is Synced and Healthy then, and nothing has failed. To ask him for one more sync would hold up everybody
// whose changes have no hooks.
//
// A destination under way: nothing that judges writes of operations can prevent it. An operation names its revisions
// and sources, but not its destination, which Argo CD takes from the specification when the sync starts and at every
// retry. The limit is a start with a destination that was written after the operation was admitted. The API server
// calls no webhook for a write that leaves the operation as it is. To refuse a write of both would not help: the
// ApplicationSet controller writes the specification alone in another pass.
type Early struct {
	At             time.Duration
	Target, Behind string
	// Missing names the change that Behind has not reached.
	Missing string
	// Kind is a guess at the finding.
	Kind string
	// Reason is what the gate said to the operation.
	Reason string
	// Condition says that a condition of its step did not hold when it was admitted. Behind and Missing say which.
	Condition bool
}

func (e Early) String() string {
	if e.Condition {
		return fmt.Sprintf("EARLY at %s: %s is admitted, but %s [%s; admitted as %s]", seconds(e.At), e.Target, e.Missing,
			e.Kind, e.Reason)
	}
	return fmt.Sprintf("EARLY at %s: %s starts, and %s has not completed %s [%s; admitted as %s]", seconds(e.At),
		e.Target, e.Behind, e.Missing, e.Kind, e.Reason)
}

// note brings up to date what an Application has reached.
func (w *world) note(m *member) {
	if !m.live.exists || m.live.pending || m.live.health != "Healthy" || m.truth.under {
		return
	}
	w.proves(m)
	m.finds()
	for i := range m.sources {
		if m.truth.had[i] == nil {
			m.truth.had[i] = map[int]bool{}
		}
		m.truth.had[i][m.live.content.source[i]] = true
	}
	for i := range m.components() {
		if m.truth.completed[i] == nil {
			m.truth.completed[i] = map[int]bool{}
		}
		for n := range w.part(m, i).count() {
			if w.deployed(m, i, n) {
				m.truth.completed[i][n] = true
				m.truth.reached[i] = max(m.truth.reached[i], n)
			}
		}
	}
}

// noteAll is called when a state may have landed: who has its content already has completed it.
func (w *world) noteAll() {
	for _, name := range w.names {
		w.note(w.members[name])
	}
}

// started is called when the revisions of an operation have been resolved: at are the states that it deploys, to a
// destination.
func (w *world) started(m *member, at states, destination string) {
	underWay := m.truth.seen.spec.Destination.Namespace != destination
	ignoring := at[len(m.sources)+ofAround] >= 0 &&
		w.around.text(at[len(m.sources)+ofAround]) != aroundOf(&m.truth.seen.spec)
	for i := range m.components() {
		n := at[i]
		for n > 0 && w.same(m, i, n, n-1) {
			n--
		}
		if n > m.truth.ran[i] && !w.deployed(m, i, n) && !w.has(&m.truth.synced, m, i, n) && !w.rollsBack(m, i, n) {
			w.judge(m, at, i, n, underWay && i == len(m.sources)+ofDestination || ignoring && i == len(m.sources)+ofAround)
		}
	}
	for i := range m.components() {
		m.truth.ran[i] = max(m.truth.ran[i], at[i])
	}
}

// rollsBack reports whether a user has asked for a content of a source that the Application has completed before, and
// that is not what Argo CD was going to deploy next.
func (w *world) rollsBack(m *member, i, n int) bool {
	return m.truth.back && w.had(m, i, n)
}

// judge looks for an earlier Application that has not reached state n of a component.
func (w *world) judge(m *member, at states, i, n int, limit bool) {
	if m.truth.bypassed || m.truth.orphan {
		return
	}
	if i < len(m.sources) {
		w.judgeAfter(m, i, n)
	}
	for _, name := range w.names {
		e := w.members[name]
		if !w.earlier(e, m, i) {
			continue
		}
		w.note(e)
		for j := range e.components() {
			if need, missing := w.misses(m, at, i, n, e, j); missing && !w.proven(m, e, j, need) &&
				!w.rides(m, at, e, j) {
				found := Early{
					At: w.now, Target: m.name, Behind: e.name, Missing: w.describe(e, j, need), Reason: string(m.truth.verdict.Reason),
				}
				found.Kind = w.kind(miss{m: m, e: e, at: at, i: i, j: j, need: need})
				switch {
				case e.truth.reached[j] >= need:
					found.Kind = "skipped"
					w.early = append(w.early, found)
				case e.live.partly:
					found.Kind = "hooks left out"
					w.limits = append(w.limits, found)
				case limit:
					found.Kind = "destination under way"
					w.limits = append(w.limits, found)
				case w.traits.pins && w.shares(m, at, e, j):
					found.Kind = "recorded revision"
					w.limits = append(w.limits, found)
				default:
					w.early = append(w.early, found)
				}
				w.logf("%s", found)
				w.tell(Observation{Kind: TooEarly, Application: found.Target, Behind: found.Behind, Text: found.Missing})
				return
			}
		}
	}
}

// misses reports whether e has not completed what m starts with state n of its component i, and which state of
// component j that is.
func (w *world) misses(m *member, at states, i, n int, e *member, j int) (need int, missing bool) {
	need = w.needed(m, i, n, e, j)
	if w.part(m, i) != w.part(e, j) {
		return need, w.reached(e, j, m.truth.admitted) < need
	}
	for k := n; k <= at[i]; k++ {
		if w.completed(e, j, k, m.truth.admitted) {
			return need, false
		}
	}
	return need, true
}

// shares reports whether m starts a state of component j of e that e has reached.
func (w *world) shares(m *member, at states, e *member, j int) bool {
	for i := range m.components() {
		if w.part(m, i) == w.part(e, j) {
			return at[i] <= e.truth.reached[j]
		}
	}
	return false
}

// proven reports whether e has completed the content of a state of a source, at any time, and not gone back from it, and
// that is enough.
func (w *world) proven(m, e *member, j, n int) bool {
	return (w.onTrain() || m.truth.back) && w.had(e, j, n) && !e.tookBack(j, w.pieceAt(e, j, n), m.truth.admitted)
}

// rides reports whether m starts, on a train, a state of a component of e whose content e has completed and not gone back
// from: what m changes beside that is its own.
func (w *world) rides(m *member, at states, e *member, j int) bool {
	for i := range m.sources {
		if w.onTrain() && j < len(e.sources) && w.part(m, i) == w.part(e, j) {
			return at[i] >= 0 && w.proven(m, e, j, at[i])
		}
	}
	return false
}

// onTrain reports whether Applications may deploy what the earlier steps have completed, and gone on from.
func (w *world) onTrain() bool {
	return w.scenario.Start && w.scenario.Pin == "candidate"
}

// had reports whether an Application has completed the content of a state of a source, at any time.
func (w *world) had(m *member, i, n int) bool {
	return i < len(m.sources) && m.truth.had[i][w.trees[w.part(m, i).branch.states[n].revision][w.path(m, i)]]
}

// needed is the state of component j that e has to have reached before m starts state n of its component i; -1 for
// none.
func (w *world) needed(m *member, i, n int, e *member, j int) int {
	own, other := w.part(m, i), w.part(e, j)
	if own == other {
		return n
	}
	change := own.landed(n) - sameMoment
	return other.landedBefore(change)
}

// earlier reports whether e has to be done before m starts its state n of a component. One that is generated, and not
// created yet, has to be if m starts a change of its spec, or is deployed for the first time: the ApplicationSet
// controller is about to write it. Labels that users write count for nothing.
func (w *world) earlier(e, m *member, i int) bool {
	app := w.api.apps[e.name]
	created := app != nil && app.DeletionTimestamp == nil
	specified := i >= len(m.sources) || m.truth.ran[i] < 0
	if e == m || e.generated == 0 || e.settled > m.truth.admitted-sameMoment || !created && (app != nil || !specified) {
		return false
	}
	step := min(m.truth.admittedStep, w.stepOf(m))
	if m.generated > 0 {
		step = min(step, m.generated)
	}
	return max(e.generated, w.stepOf(e)) < step && !w.apart(e, m)
}

// stepOf is the step of an Application by its label, but for labels that users have written.
func (w *world) stepOf(m *member) int {
	if m.relabelled {
		return m.generated
	}
	return stepOf(w.api.apps[m.name])
}
