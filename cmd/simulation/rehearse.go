// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"time"
)

// Rehearsal is what came of a rollout that somebody watched.
type Rehearsal struct {
	// Ended is when the last thing happened.
	Ended time.Duration
	// Unfinished says that the time was over before the rollout was, and Endless that somebody goes round in circles.
	Unfinished, Endless bool
	// Waiting are the Applications that are not done, in the order of the scenario.
	Waiting []Waiting
}

// Waiting is an Application that is not done in the end.
type Waiting struct {
	Application string
	Step        int
	// Health, Sync and Operation are what Argo CD shows; Operation is the phase of its last one.
	Health, Sync, Operation string
	// Recorded is its status in the ApplicationSet, such as Waiting.
	Recorded string
	// Answer is what stepgate says to somebody who syncs it now, Allowed that it would let them, and Reason why or why
	// not. All are empty without a gate.
	Answer, Reason string
	Allowed        bool
}

// Rehearse plays a scenario and tells what happens to whoever watches, until all is done, nothing changes any more or
// most has passed. Without the gate, Argo CD is alone. It ends early when ctx does.
func (p *Player) Rehearse(
	ctx context.Context, s *Scenario, gated bool, most time.Duration, watch func(Observation),
) Rehearsal {
	w := newWorld(s, nil)
	w.observe = watch
	for _, m := range w.members {
		m.wasDone = true
	}
	var judge *stepgate
	w.gate = noGate{}
	if gated {
		judge = newStepgate(w, p.records)
		w.gate = judge
	}
	last := w.schedule()
	w.advance(last)
	// Somebody may not look for as long as Argo CD polls, and nothing may change while something becomes Healthy.
	slow := s.Poll + s.Takes + s.Patience
	for ctx.Err() == nil && w.now < most && len(w.queue) > 0 && !w.exhausted() && !w.finished() {
		if w.now > max(w.api.changed, last)+slow && w.still(last+slow) {
			break
		}
		w.advance(10 * time.Second)
	}
	r := Rehearsal{
		Ended: max(w.api.changed, last), Unfinished: w.now >= most && !w.finished(), Endless: w.exhausted(),
	}
	for _, name := range w.undone() {
		r.Waiting = append(r.Waiting, w.waiting(w.members[name], judge))
	}
	return r
}

// finished reports whether all is done and hydrated, and the ApplicationSet says the same.
func (w *world) finished() bool {
	if len(w.undone()) > 0 || w.busy() {
		return false
	}
	for _, b := range w.branches {
		if b.dry != nil && b.states[b.head()].dry < b.dry.head() {
			return false
		}
	}
	for _, f := range w.families {
		for _, s := range f.live.Status.ApplicationStatus {
			if s.Status != "Healthy" {
				return false
			}
		}
	}
	return true
}

// waiting says how an Application is in the end. The world does not go on after that.
func (w *world) waiting(m *member, judge *stepgate) Waiting {
	app := w.api.apps[m.name]
	x := Waiting{
		Application: m.name, Step: m.generated, Health: string(app.Status.Health.Status),
		Sync: string(app.Status.Sync.Status),
	}
	if state := app.Status.OperationState; state != nil {
		x.Operation = string(state.Phase)
	}
	for _, s := range m.family.live.Status.ApplicationStatus {
		if s.Application == m.name {
			x.Recorded = string(s.Status)
		}
	}
	if judge == nil {
		return x
	}
	next := *app
	next.Operation = syncOf(app, w.heads(m))
	v := judge.Decide(Write{Old: app, New: &next, By: serverAccount})
	x.Answer, x.Reason, x.Allowed = v.Message, string(v.Reason), v.Allowed
	return x
}
