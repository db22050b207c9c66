package proof

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Plan is what is explored.
type Plan struct {
	Rule
	// Events is how many there are at most after a beginning, and Commits how many land in all.
	Events, Commits int
	// Wide says that there are more kinds of events: dry runs, an Application that becomes Degraded, and a watch of stepgate that
	// stalls.
	Wide bool
	// From is the number of the first beginning, and To the one of the last.
	From, To int
	// Within is how long to go on, and States how many to keep at most; zero is no bound.
	Within time.Duration
	States int
	// Progress is told of each number of events; nil if nobody is.
	Progress io.Writer
}

// Found is what an exploration has found.
type Found struct {
	// States are those that are new after so many events, and Complete says that all were seen.
	States   []int
	Complete bool
	// Visible are those of them that differ for stepgate, and Judged the writes that it has judged.
	Visible, Judged int
	Took            time.Duration
	// Early is the shortest history in which something starts early; nil if there is none.
	Early *Early
}

// All is the number of states.
func (f *Found) All() (n int) {
	for _, of := range f.States {
		n += of
	}
	return n
}

// Early is a sync that starts before its turn.
type Early struct {
	Moves []string
	Why   string
}

func (e *Early) String() string {
	text := ""
	for i, m := range e.Moves {
		text += fmt.Sprintf("%2d. %s\n", i+1, m)
	}
	return text + "EARLY: " + e.Why
}

// search is an exploration.
type search struct {
	Plan
	gate  *gate
	keys  keys
	seen  map[key]struct{}
	found Found
	began time.Time
}

// Explore goes through all histories of a plan, the shorter ones first, up to the first that starts something early.
func Explore(plan Plan) *Found {
	s := &search{Plan: plan, gate: newGate(plan.Rule), seen: map[key]struct{}{}, began: time.Now()}
	s.explore()
	s.found.Took = time.Since(s.began).Round(time.Millisecond)
	s.found.Visible, s.found.Judged = s.gate.visible, s.gate.judged
	return &s.found
}

func (s *search) explore() {
	var now []world
	for _, w := range s.gate.beginnings()[s.From:s.To] {
		now = s.keep(now, w, true)
	}
	s.found.States = append(s.found.States, len(now))
	for n := 0; ; n++ {
		s.progress(n)
		if s.found.Early != nil || n == s.Events {
			s.found.Complete = s.found.Early == nil
			return
		}
		var next []world
		for i := range now {
			if next = s.next(next, &now[i], n+1 < s.Events); s.found.Early != nil {
				break
			}
			if s.over() {
				return
			}
			now[i] = world{}
		}
		now = next
	}
}

// next adds the worlds after one more event that were not seen yet, or only looks at them.
func (s *search) next(all []world, w *world, more bool) []world {
	if len(s.found.States) == 0 {
		return all
	}
	moves := w.moves(&s.Plan)
	for _, x := range append(w.ofFirst(), s.gate.admitted(w, s.keys.visible(w), true)...) {
		if !slices.ContainsFunc(moves, x.same) && w.needs(x) {
			moves = append(moves, x.move())
		}
	}
	for _, m := range moves {
		after := w.after(m, s.gate)
		before := len(all)
		if all = s.keep(all, after, more); s.found.Early != nil {
			return all
		}
		if !more && len(all) > before {
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
			s.found.Early = &Early{Moves: texts(append(w.path.moves(), x.move())), Why: why}
			return all
		}
	}
	return append(all, w)
}

func (s *search) over() bool {
	return s.Within > 0 && time.Since(s.began) > s.Within || s.States > 0 && len(s.seen) > s.States
}

func (s *search) progress(n int) {
	if s.Progress != nil {
		fmt.Fprintf(s.Progress, "%d events: %d states, %d for stepgate, %d writes judged, %d objects, %s\n", n, len(s.seen),
			s.gate.visible, s.gate.judged, len(s.gate.all), time.Since(s.began).Round(time.Millisecond))
	}
}
