package simulation

import (
	"fmt"
	"strings"
	"time"
)

// Scenario is one history: how the world is set up, and what people, git and clusters do to it. Two plays of one Scenario are
// the same. Its text, which Parse reads and String writes, has one line for the set-up of each kind and one for each event:
//
//	argocd 3.5 layout=shared poll=180s requeue=0s replicas=1 jitter=0
//	app dev 1
//	app prod 3 skew=2s
//	+1s commit app all
//	+0s refresh prod
//
// Lines that begin with # are remarks. play.go lists the events. Two more lines are for kept scenarios: "expect early A1" says which
// kind of counterexample it is (or "expect nothing"), and "without NAME early A1" what it becomes when a part of the rule is taken
// out: see the command control.
type Scenario struct {
	// Expect is the kind of counterexample that the scenario is, or empty.
	Expect string
	// Without are the kinds that it is when a part of the rule is taken out, by the name of the part.
	Without map[string]string
	Version string
	// Layout says which repositories the Applications deploy: see layouts in layout.go.
	Layout string
	// Poll is timeout.reconciliation; zero switches polling off.
	Poll time.Duration
	// Requeue is the period of the generator; zero for a list generator, which has none.
	Requeue time.Duration
	// Replicas of stepgate, 1 or 2.
	Replicas int
	// Pin is --pin of stepgate; empty is compared.
	Pin string
	// RetryRefresh sets syncPolicy.retry.refresh.
	RetryRefresh bool
	// Jitter varies all durations; with zero everything takes as long as it usually does.
	Jitter       uint32
	Applications []Application
	Events       []Event
}

// Application is an Application that exists at the beginning.
type Application struct {
	Name string
	Step int
	// Skew is how far the clock of its controller shard is ahead.
	Skew time.Duration
	// Compares is how much longer every comparison of it takes, as one of many resources does.
	Compares time.Duration
}

// Event is one thing that happens, some time after the one before.
type Event struct {
	After time.Duration
	Do    string
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// String is the notation.
func (s *Scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "argocd %s layout=%s poll=%s requeue=%s replicas=%d jitter=%d", s.Version, s.Layout, s.Poll, s.Requeue, s.Replicas, s.Jitter)
	if s.RetryRefresh {
		b.WriteString(" retry-refresh")
	}
	if s.Pin != "" {
		b.WriteString(" pin=" + s.Pin)
	}
	b.WriteString("\n")
	for _, a := range s.Applications {
		fmt.Fprintf(&b, "app %s %d", a.Name, a.Step)
		if a.Skew != 0 {
			fmt.Fprintf(&b, " skew=%s", a.Skew)
		}
		if a.Compares != 0 {
			fmt.Fprintf(&b, " compares=%s", a.Compares)
		}
		b.WriteString("\n")
	}
	for _, e := range s.Events {
		fmt.Fprintf(&b, "+%s %s\n", e.After, e.Do)
	}
	return b.String()
}
