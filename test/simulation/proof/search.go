// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/webhook/settings"
)

// Plan is what is explored.
type Plan struct {
	Rule
	// Events is how many there are at most after a beginning, and Commits how many land in all.
	Events, Commits int
	// Wide says that there are more kinds of events: dry runs, an Application that becomes Degraded, and a watch of stepgate
	// that stalls.
	Wide bool
	// Within is how long to go on; zero is no bound.
	Within time.Duration
	// Progress is told of each number of events; nil if nobody is.
	Progress io.Writer
}

// With is the plan with another way to pin, and so many events. Who pins to the newest candidate starts syncs, too.
func (p Plan) With(pin settings.Pin, wide bool, events int) Plan {
	p.Pin, p.Start, p.Wide, p.Events = pin, pin == settings.PinCandidate, wide, events
	return p
}

// Found is what an exploration has found.
type Found struct {
	// States are how many were seen with at most so many events, and Events the number of events of which all were seen.
	States, Events int
	// Visible are those of them that differ for stepgate. Judged counts the writes that were judged, and Confirmed those that the
	// handlers have judged as well.
	Visible, Judged, Confirmed int
	Took                       time.Duration
	// Early is the shortest history in which something starts early; nil if there is none.
	Early *Early
}

// Early is a sync that starts before its turn, after some events.
type Early struct {
	Events []string
	Why    string
}

func (e *Early) String() string {
	var text strings.Builder
	for i, m := range e.Events {
		fmt.Fprintf(&text, "%2d. %s\n", i+1, m)
	}
	return text.String() + "EARLY: " + e.Why
}

// search is an exploration.
type search struct {
	Plan
	gate  *gate
	keys  keys
	seen  map[key]struct{}
	early *Early
	began time.Time
}

// Explore goes through all histories of a plan, the shorter ones first, up to the first in which something starts early.
func Explore(plan Plan) Found {
	s := &search{Plan: plan, gate: newGate(plan.Rule), seen: map[key]struct{}{}, began: time.Now()}
	events := s.explore()
	return Found{
		States: len(s.seen), Events: events, Visible: s.gate.visible, Judged: s.gate.judged, Confirmed: s.gate.confirms,
		Took: time.Since(s.began).Round(time.Millisecond), Early: s.early,
	}
}

// explore returns the number of events of which it has seen all histories.
func (s *search) explore() (events int) {
	var now []world
	for _, w := range s.gate.beginnings() {
		now = s.keep(now, w, true)
	}
	for ; s.early == nil && events < s.Events; events++ {
		s.tell(events)
		var next []world
		for i := range now {
			if next = s.next(next, &now[i], events+1 < s.Events); s.early != nil || s.over() {
				return events
			}
			now[i] = world{}
		}
		now = next
	}
	return events
}

// next adds the worlds after one more event that were not seen yet. Without more, it only looks at them.
func (s *search) next(all []world, w *world, more bool) []world {
	moves := w.moves(&s.Plan)
	for _, x := range append(w.ofFirst(), s.gate.admitted(w, s.keys.visible(w), true)...) {
		if !slices.ContainsFunc(moves, x.same) && w.needs(x) {
			moves = append(moves, x.move())
		}
	}
	for _, m := range moves {
		before := len(all)
		if all = s.keep(all, w.after(m, s.gate), more); s.early != nil {
			return all
		}
		if !more {
			all = all[:before]
		}
	}
	return all
}

// keep adds a world if it is new, and looks at what may start there.
func (s *search) keep(all []world, w world, more bool) []world {
	k := s.keys.whole(&w)
	if _, known := s.seen[k]; known {
		return all
	}
	s.seen[k] = struct{}{}
	for _, x := range s.gate.admitted(&w, s.keys.visible(&w), more) {
		if why := w.early(x); why != "" {
			s.early = &Early{Events: texts(append(w.path.moves(), x.move())), Why: why}
			return all
		}
	}
	return append(all, w)
}

func (s *search) over() bool { return s.Within > 0 && time.Since(s.began) > s.Within }

func (s *search) tell(events int) {
	if s.Progress != nil {
		_, _ = fmt.Fprintf(s.Progress, "%d events: %d states, %s\n", events, len(s.seen),
			time.Since(s.began).Round(time.Millisecond))
	}
}
