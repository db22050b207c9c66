// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/policy"
)

const (
	// crowd is the number of Applications from which a step is told as a whole.
	crowd = 5
	// namedInLine is how many Applications a line names.
	namedInLine = 3
	// together is how close events are that one line tells.
	together = 2 * time.Second
)

// entry is one line of the timeline: events of one kind that belong together.
type entry struct {
	at   float64
	kind simulation.Kind
	step int
	// called is what people call the step.
	called string
	names  []string
	// why tells entries of a large wave apart that say why it is held: see whyHeld.
	why string
	// message and retries are those of the first event.
	message string
	retries int
	behind  []string
	// of is the number of Applications of a large step, else 0.
	of int
	// whole says that it is about the whole step, and atOnce how many of it are under way at the same time, at most.
	whole  bool
	atOnce int
}

// timeliner puts events together.
type timeliner struct {
	r   *Report
	all []*entry
	// crowds are the entries of large steps.
	crowds     map[string]*entry
	busy, done map[int]int
}

// entries puts the events together, and tells large steps as a whole.
func (r *Report) entries() []*entry {
	t := &timeliner{r: r, crowds: map[string]*entry{}, busy: map[int]int{}, done: map[int]int{}}
	for i := range r.Events {
		e := &r.Events[i]
		if e.Step > 0 && len(r.Steps[e.Step-1].Applications) >= crowd {
			t.addToCrowd(e, len(r.Steps[e.Step-1].Applications))
		} else {
			t.add(e)
		}
	}
	for from := 0; from < len(t.all); {
		to := from + 1
		for ; to < len(t.all) && t.all[from].waitsWith(t.all[to]); to++ {
		}
		slices.SortStableFunc(t.all[from:to], func(a, b *entry) int { return cmp.Compare(a.step, b.step) })
		from = to
	}
	return t.all
}

// waitsWith reports whether two entries say at the same second that somebody waits. They are shown by step.
func (x *entry) waitsWith(other *entry) bool {
	return x.kind == Waits && other.kind == Waits && clock(x.at) == clock(other.at)
}

// addToCrowd adds an event of a large step. Its first start, its end, and whom it waits for are told once.
func (t *timeliner) addToCrowd(e *Event, size int) {
	switch e.Kind {
	case simulation.Started:
		c := t.crowd(e, "")
		c.whole = true
		t.busy[e.Step]++
		c.atOnce = max(c.atOnce, t.busy[e.Step])
		if e.Behind != "" {
			t.crowd(e, "early").add(e)
		}
	case simulation.Done:
		t.busy[e.Step]--
		if t.done[e.Step]++; t.done[e.Step] == size {
			t.crowd(e, "").whole = true
		}
	case Waits:
		t.crowd(e, "").add(e)
	case simulation.Held, simulation.WouldDeny:
		t.crowd(e, whyHeld(e)).add(e)
	default:
		t.add(e)
	}
}

// whyHeld tells apart why an Application of a large step is held. Of a wave each asks by itself, at a moment of its own, and
// for whom it waits changes all the time: there the order is one reason.
func whyHeld(e *Event) string {
	switch {
	case e.Wave == nil:
		return e.Message
	case policy.Reason(e.Reason).Condition():
		return e.Reason
	}
	return "the order"
}

// crowd is the entry of a large step for events of this kind.
func (t *timeliner) crowd(e *Event, which string) *entry {
	key := fmt.Sprint(e.Step, e.Kind, which)
	if t.crowds[key] == nil {
		x := &entry{
			at: e.Seconds, kind: e.Kind, step: e.Step, called: t.r.name(e.Step), message: e.Message,
			of: len(t.r.Steps[e.Step-1].Applications),
		}
		if e.Wave != nil {
			x.why = which
		}
		t.crowds[key], t.all = x, append(t.all, x)
	}
	return t.crowds[key]
}

// add adds an event to the entry that it belongs to, or makes a new one.
func (t *timeliner) add(e *Event) {
	for i := len(t.all) - 1; i >= 0 && t.all[i].at > e.Seconds-together.Seconds(); i-- {
		if x := t.all[i]; x.takes(e) {
			x.add(e)
			return
		}
	}
	x := &entry{
		at: e.Seconds, kind: e.Kind, step: e.Step, called: t.r.name(e.Step), message: e.Message, retries: e.Retries,
	}
	x.add(e)
	t.all = append(t.all, x)
}

// takes reports whether an event of the same moment belongs to an entry.
func (x *entry) takes(e *Event) bool {
	if x.of > 0 || x.kind != e.Kind {
		return false
	}
	if e.Kind == simulation.Landed || e.Kind == simulation.Refreshed {
		return true
	}
	return x.step == e.Step && x.message == e.Message && (e.Behind == "") == (len(x.behind) == 0)
}

func (x *entry) add(e *Event) {
	name := e.Application
	if e.Kind == simulation.Landed {
		name = e.Message
	}
	if !slices.Contains(x.names, name) {
		x.names = append(x.names, name)
	}
	if e.Behind != "" && !slices.Contains(x.behind, e.Behind) {
		x.behind = append(x.behind, e.Behind)
	}
}

// sign of an entry, and the style of its first words.
func (x *entry) sign() (string, screen.Style) {
	switch x.kind {
	case simulation.Failed, simulation.Degraded:
		return screen.SignBad, screen.Bad
	case simulation.Done:
		return screen.SignGood, screen.Good
	case Waits, simulation.Held:
		return screen.SignWaiting, screen.Busy
	case simulation.WouldDeny:
		return screen.SignWarning, screen.Busy
	case simulation.Started:
		if len(x.behind) > 0 {
			return screen.SignBad, screen.Bad
		}
		return screen.SignBusy, screen.Plain
	case simulation.Refreshed:
		return screen.SignBusy, screen.Faint
	default:
		return " ", screen.Bold
	}
}

// who are the Applications of an entry, and their step.
func (x *entry) who() string {
	if x.of > 0 && len(x.names) > 1 {
		return fmt.Sprintf("%d of %d Applications of %s", len(x.names), x.of, x.called)
	}
	return fmt.Sprintf("%s (%s)", list(x.names, namedInLine), x.called)
}

// text of an entry, without the message of stepgate.
func (x *entry) text() string {
	many := len(x.names) > 1
	switch x.kind {
	case simulation.Landed:
		return "a commit lands on " + list(x.names, namedInLine)
	case Waits:
		return fmt.Sprintf("%s %s: %s", x.who(), plural(many, "waits", "wait"), x.message)
	case simulation.Held:
		return x.who() + ": stepgate holds the sync"
	case simulation.WouldDeny:
		return x.who() + ": in mode enforce, stepgate would hold the sync"
	case simulation.Refreshed:
		return "stepgate asks Argo CD to compare " + list(x.names, namedInLine)
	case simulation.Started:
		return x.starts(many)
	case simulation.Failed:
		if x.retries == 0 {
			return x.who() + ": the sync has failed, and is not tried again"
		}
		return fmt.Sprintf("%s: the sync has failed, after %s", x.who(), counted(x.retries, "retry", "retries"))
	case simulation.Degraded:
		return fmt.Sprintf("%s %s Degraded", x.who(), plural(many, "is", "are"))
	default:
		if x.whole {
			return fmt.Sprintf("%s is done, all %d Applications", x.called, x.of)
		}
		return fmt.Sprintf("%s %s done", list(x.names, namedInLine), plural(many, "is", "are"))
	}
}

func (x *entry) starts(many bool) string {
	switch {
	case x.whole && x.atOnce == x.of:
		return fmt.Sprintf("%s starts: %d Applications, all at once", x.called, x.of)
	case x.whole:
		return fmt.Sprintf("%s starts: %d Applications, at most %d at a time", x.called, x.of, x.atOnce)
	case len(x.behind) > 0:
		return fmt.Sprintf("%s %s TOO EARLY: %s %s not done", x.who(), plural(many, "starts", "start"),
			list(x.behind, namedInLine), plural(len(x.behind) > 1, "is", "are"))
	}
	return fmt.Sprintf("%s %s", x.who(), plural(many, "starts", "start"))
}

func plural(many bool, one, more string) string {
	if many {
		return more
	}
	return one
}

func counted(n int, one, more string) string {
	return fmt.Sprintf("%d %s", n, plural(n != 1, one, more))
}

// clock is a time since the first commit, such as +2m32s.
func clock(s float64) string { return "+" + seconds(s).Truncate(time.Second).String() }

// byStep sorts names by step, and then by name.
func (r *Report) byStep(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.stepOf[a], r.stepOf[b]), cmp.Compare(a, b))
	})
	return names
}
