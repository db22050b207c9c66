package rehearsal

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/simulation"
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
	at    float64
	kind  simulation.Kind
	step  int
	names []string
	// message and retries are those of the first event.
	message string
	retries int
	behind  []string
	// atOnce is how many of a crowd are under way at the same time, at most; all is how many there are. They are 0 for others.
	atOnce, all int
}

// entries puts the events together, and tells large steps as a whole.
func (r *Report) entries() []*entry {
	var all []*entry
	crowds := map[int]*entry{}
	busy, done := map[int]int{}, map[int]int{}
	for i := range r.Events {
		e := &r.Events[i]
		size := 0
		if e.Step > 0 {
			size = len(r.Steps[e.Step-1].Applications)
		}
		switch {
		case size >= crowd && e.Kind == simulation.Started:
			c := crowds[e.Step]
			if c == nil {
				c = &entry{at: e.Seconds, kind: e.Kind, step: e.Step, all: size}
				crowds[e.Step] = c
				all = append(all, c)
			}
			busy[e.Step]++
			c.atOnce = max(c.atOnce, busy[e.Step])
			if e.Behind != "" {
				all = r.join(all, e)
			}
		case size >= crowd && e.Kind == simulation.Done:
			busy[e.Step]--
			if done[e.Step]++; done[e.Step] == size {
				all = append(all, &entry{at: e.Seconds, kind: e.Kind, step: e.Step, all: size})
			}
		default:
			all = r.join(all, e)
		}
	}
	return all
}

// join adds an event to the entry that it belongs to, or makes a new one.
func (r *Report) join(all []*entry, e *Event) []*entry {
	for i := len(all) - 1; i >= 0 && all[i].at > e.Seconds-together.Seconds(); i-- {
		if x := all[i]; x.all == 0 && x.kind == e.Kind && x.step == e.Step && x.message == e.Message && (e.Behind == "") == (len(x.behind) == 0) {
			x.add(e)
			return all
		}
	}
	x := &entry{at: e.Seconds, kind: e.Kind, step: e.Step, message: e.Message, retries: e.Retries}
	x.add(e)
	return append(all, x)
}

func (x *entry) add(e *Event) {
	x.names = append(x.names, e.Application)
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

// text of an entry. full says that the message has not been shown yet.
func (x *entry) text(branches int) string {
	who, many := list(x.names, namedInLine), len(x.names) > 1
	switch x.kind {
	case simulation.Landed:
		if branches > 1 {
			return fmt.Sprintf("a commit lands on %s", counted(len(x.names), "branch", "branches"))
		}
		return "a commit lands"
	case Waits:
		return fmt.Sprintf("%s (step %d) %s: %s", who, x.step, plural(many, "waits", "wait"), x.message)
	case simulation.Held:
		return fmt.Sprintf("%s (step %d): stepgate holds the sync", who, x.step)
	case simulation.WouldDeny:
		return fmt.Sprintf("%s (step %d): in mode enforce, stepgate would hold the sync", who, x.step)
	case simulation.Refreshed:
		return fmt.Sprintf("stepgate has Argo CD compare %s again", who)
	case simulation.Started:
		return x.starts(who, many)
	case simulation.Failed:
		return fmt.Sprintf("%s (step %d): the sync has failed, after %s", who, x.step, counted(x.retries, "retry", "retries"))
	case simulation.Degraded:
		return fmt.Sprintf("%s (step %d) %s Degraded", who, x.step, plural(many, "is", "are"))
	default:
		if x.all > 0 {
			return fmt.Sprintf("step %d is done, all %d Applications", x.step, x.all)
		}
		return fmt.Sprintf("%s %s done", who, plural(many, "is", "are"))
	}
}

func (x *entry) starts(who string, many bool) string {
	switch {
	case x.all > 0:
		atOnce := fmt.Sprintf(", at most %d at a time", x.atOnce)
		return fmt.Sprintf("the first of %d Applications of step %d starts%s", x.all, x.step, atOnce)
	case len(x.behind) > 0:
		return fmt.Sprintf("%s (step %d) %s TOO EARLY: %s %s not done", who, x.step, plural(many, "starts", "start"),
			list(x.behind, namedInLine), plural(len(x.behind) > 1, "is", "are"))
	}
	return fmt.Sprintf("%s (step %d) %s", who, x.step, plural(many, "starts", "start"))
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
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(r.stepOf[a], r.stepOf[b]), cmp.Compare(a, b)) })
	return names
}
