package simulation

import (
	"time"

	"github.com/stepgate/stepgate/webhook"
)

// quiet is how long nothing but what is periodic happens at the end of a history. It is longer than the longest back-off of the
// ApplicationSet controller, 1000 s, and what has to come after that.
const quiet = 25 * time.Minute

// Result is what came of one history.
type Result struct {
	Early []Early
	// Stuck are the Applications that hang because of the gate.
	Stuck []string
	// Incomplete are the Applications that were not rolled out in the end, for whatever reason.
	Incomplete []string
	// Stranded are the Applications that Argo CD alone would have rolled out, and that are not rolled out even when the gate is
	// taken away in the end.
	Stranded []string
}

// Player plays histories, one after the other.
type Player struct{ record *webhook.Recorder }

// NewPlayer returns a Player.
func NewPlayer() *Player { return &Player{record: newRecorder()} }

// Play plays a history with the gate.
//
// An Application is stuck if, after a quiet time of 25 minutes, it is not done; Argo CD alone has done it in the same
// history; and it gets done when the gate is taken away and another quiet time passes. Done means that what git and the
// generator want is deployed, by a sync that succeeded, and Healthy.
func (p *Player) Play(s *Scenario, trace func(time.Duration, string)) Result {
	w := newWorld(s, trace)
	w.gate = newStepgate(w, p.record)
	r := Result{Incomplete: w.run(w.schedule())}
	r.Early = w.early
	if len(r.Incomplete) == 0 {
		return r
	}
	alone := newWorld(s, nil)
	alone.gate = noGate{}
	without := alone.run(alone.schedule())
	w.gate = noGate{}
	w.logf("* the gate is taken away")
	after := w.run(w.now)
	for _, name := range r.Incomplete {
		switch {
		case contains(without, name):
		case contains(after, name):
			r.Stranded = append(r.Stranded, name)
		default:
			r.Stuck = append(r.Stuck, name)
		}
	}
	return r
}

// run lets the events happen, and then time pass, until all is done or the quiet time is over. It returns what is not done.
func (w *world) run(last time.Duration) []string {
	w.advance(last - w.now)
	const look = 4 * time.Second
	idle := 0
	for w.now < last+quiet {
		w.advance(look)
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

func contains(all []string, name string) bool {
	for _, one := range all {
		if one == name {
			return true
		}
	}
	return false
}
