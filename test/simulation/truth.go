package simulation

import (
	"fmt"
	"time"
)

// sameMoment is how close two changes of different repositories may land for them to have no order. One second is the
// resolution of Argo CD's times.
const sameMoment = 2 * time.Second

// truth is how far an Application has come, by its components: its sources, in their order, the template, and the parameter that
// the generator gives to it alone. A source is counted by the states of its branch, and the others by their generations.
type truth struct {
	// reached is the latest state that the Application has completed, or needs nothing of.
	reached [4]int
	// ran is the latest state that it has started to sync.
	ran [4]int
	// admitted is when its last operation was admitted, and admittedStep the step that it had then.
	admitted     time.Duration
	admittedStep int
	// verdict is what the gate said then, and seen what it could see.
	verdict Verdict
	seen    sight
	// refused is the last refusal of an operation, and what was refused.
	refused      Verdict
	refusedWrite Write
}

// Early is a sync that started before its turn.
//
// An Application P starts something when the application controller has resolved the revisions of an operation of P, and one of
// its components (a source, the template or its own parameter) is at a newer state than P has ever run, with a content that differs from the states
// before. The change is the push, or the change of the template, that brought that content. The start is early if an
// Application E of an earlier step has not reached the change: of a component that both share, that very state, and of the
// others every state that had landed two seconds before the change.
//
// E has reached a state if, at any time since that state landed, E had the content of that state deployed, by a sync that
// succeeded, and was Healthy. Whether Argo CD or the gate knew does not count. Nothing takes a state back: an Application
// that fails or drifts after it was done, or is rolled back, has been done. States that a branch points to once more are new
// ones.
//
// E is of an earlier step if it exists, is generated, and its step was lower than that of P, by its live label as by the
// generator, already two seconds before the operation was admitted. Syncs of what P has run before, or has deployed now, are
// never early: drift, self-heal, rollbacks. Neither are those of the first step. A sync by a user counts like any other.
type Early struct {
	At             time.Duration
	Target, Behind string
	// Missing names the change that Behind has not reached.
	Missing string
	// Kind is a guess at the finding.
	Kind string
	// Reason is what the gate said to the operation.
	Reason string
}

func (e Early) String() string {
	return fmt.Sprintf("EARLY at %s: %s starts, and %s has not completed %s [%s; admitted as %s]", seconds(e.At), e.Target, e.Behind, e.Missing, e.Kind, e.Reason)
}

// nothing is how far an Application has come that has never been deployed.
func nothing() [4]int { return [4]int{-1, -1, -1, -1} }

// components are the sources, the template and its own parameter.
func (m *member) components() int { return len(m.sources) + 2 }

// part is what a component is counted by, and what two Applications share if they have the same.
type part struct {
	branch *branch
	own    *member
}

// part of a source is its branch, or the dry one that it is hydrated from; of the template nothing, for all share it.
func (m *member) part(i int) part {
	switch i - len(m.sources) {
	case 0:
		return part{}
	case 1:
		return part{own: m}
	}
	if b := m.sources[i]; b.dry != nil {
		return part{branch: b.dry}
	}
	return part{branch: m.sources[i]}
}

// states is how many states a component has had.
func (w *world) states(m *member, i int) int {
	switch p := m.part(i); {
	case p.branch != nil:
		return len(p.branch.states)
	case p.own != nil:
		return len(m.parameters)
	}
	return len(w.generations)
}

func (w *world) landed(m *member, i, n int) time.Duration {
	switch p := m.part(i); {
	case p.branch != nil:
		return p.branch.states[n].landed
	case p.own != nil:
		return m.parameters[n]
	}
	return w.generations[n].landed
}

// same reports whether the component has the same content in two states.
func (w *world) same(m *member, i, a, b int) bool {
	switch p := m.part(i); {
	case p.branch != nil:
		path := w.path(m, i)
		return w.trees[p.branch.states[a].revision][path] == w.trees[p.branch.states[b].revision][path]
	case p.own != nil:
		return a == b
	}
	return w.generations[a].values == w.generations[b].values && w.generations[a].destination == w.generations[b].destination
}

// deployed reports whether the content of a state is what the cluster has.
func (w *world) deployed(m *member, i, n int) bool {
	switch p := m.part(i); {
	case p.branch != nil:
		return w.trees[p.branch.states[n].revision][w.path(m, i)] == m.live.content.source[i]
	case p.own != nil:
		return m.live.content.parameter == parameter(n)
	}
	return w.generations[n].values == m.live.content.values && w.generations[n].destination == m.live.content.destination
}

// note brings up to date what an Application has reached.
func (w *world) note(m *member) {
	if !m.live.exists || m.live.pending || m.live.health != "Healthy" {
		return
	}
	for i := range m.components() {
		for n := w.states(m, i) - 1; n > m.truth.reached[i]; n-- {
			if w.deployed(m, i, n) {
				m.truth.reached[i] = n
				break
			}
		}
	}
}

// started is called when the revisions of an operation have been resolved: at are the states that it deploys.
func (w *world) started(m *member, at [4]int) {
	for i := range m.components() {
		n := at[i]
		for n > 0 && w.same(m, i, n, n-1) {
			n--
		}
		if n > m.truth.ran[i] && !w.deployed(m, i, n) {
			w.judge(m, at, i, n)
		}
	}
	for i := range m.components() {
		m.truth.ran[i] = max(m.truth.ran[i], at[i])
	}
}

// judge looks for an earlier Application that has not reached state n of a component.
func (w *world) judge(m *member, at [4]int, i, n int) {
	for _, name := range w.names {
		e := w.members[name]
		if !w.earlier(e, m) {
			continue
		}
		w.note(e)
		for j := range e.components() {
			if need := w.needed(m, i, n, e, j); e.truth.reached[j] < need {
				found := Early{At: w.now, Target: m.name, Behind: e.name, Missing: w.describe(e, j, need), Reason: string(m.truth.verdict.Reason)}
				found.Kind = w.kind(miss{m: m, e: e, at: at, i: i, j: j, need: need})
				w.early = append(w.early, found)
				w.logf("%s", found)
				return
			}
		}
	}
}

// needed is the state of component j that e has to have reached before m starts state n of its component i; -1 for none.
func (w *world) needed(m *member, i, n int, e *member, j int) int {
	if m.part(i) == e.part(j) {
		return n
	}
	change := w.landed(m, i, n) - sameMoment
	for k := w.states(e, j) - 1; k >= 0; k-- {
		if w.landed(e, j, k) <= change {
			return k
		}
	}
	return -1
}

func (w *world) earlier(e, m *member) bool {
	app := w.api.apps[e.name]
	if e == m || app == nil || app.DeletionTimestamp != nil || e.generated == 0 || e.settled > m.truth.admitted-sameMoment {
		return false
	}
	step := min(m.truth.admittedStep, stepOf(w.api.apps[m.name]))
	if m.generated > 0 {
		step = min(step, m.generated)
	}
	return max(e.generated, stepOf(app)) < step
}

func (w *world) describe(m *member, i, n int) string {
	what := fmt.Sprint("template ", n)
	switch p := m.part(i); {
	case p.branch != nil:
		what = p.branch.states[n].revision
	case p.own != nil:
		what = "parameter " + parameter(n)
	}
	return fmt.Sprintf("%s (landed at %s)", what, seconds(w.landed(m, i, n)))
}
