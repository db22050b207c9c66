// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Scenario is one history: how the world is set up, and what people, git and clusters do to it. Two plays of one
// Scenario are the same. Its text, which Parse reads and String writes, has one line for the set-up of each kind and
// one for each event:
//
//	argocd 3.5 layout=shared poll=180s requeue=0s replicas=1 jitter=0
//	app dev 1
//	app prod 3 skew=2s
//	+1s commit app all
//	+0s refresh prod
//
// An ApplicationSet that is not the usual one, of three steps, has more lines: "set NAMESPACE/NAME", and a "step" or a
// "step maxUpdate=2" or "step maxUpdate="25%"" for each of its steps. An app may have "from=BRANCH,BRANCH" instead of
// what the layout gives it, and "set=NAME" if it is of another ApplicationSet; "after NAME NAME,NAME" says which
// ApplicationSet comes after which.
//
// Steps that have "wave=20" are sync waves, lowest first: then nobody in Argo CD orders the Applications, and those that
// are "automated" are synced by Argo CD whenever they are OutOfSync. With "set argocd/waves/platform" they are the children
// of the parent platform.
//
// Lines that begin with # are remarks. play.go lists the events. Two more lines are for kept scenarios: "expect early
// A1" says which kind of counterexample it is (or "expect nothing"), and "without NAME early A1" what it becomes when a
// part of the rule is taken out: see the command control.
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
	// Start is --start of stepgate.
	Start bool
	// MaxUpdate is keep where stepgate keeps maxUpdate, count where it does not and more are a counterexample all the
	// same, and empty where nobody counts.
	MaxUpdate string
	// RetryRefresh sets syncPolicy.retry.refresh.
	RetryRefresh bool
	// NoGrace is --refresh-grace-period-seconds=0 of the ApplicationSet controller of 3.6.
	NoGrace bool
	// History is spec.revisionHistoryLimit; nil is Argo CD's 10.
	History *int64
	// Unstamped says that the Applications were deployed before stepgate was there.
	Unstamped bool
	// Jitter varies all durations; with zero everything takes as long as it usually does.
	Jitter uint32
	// Set is the namespace and the name of the first ApplicationSet; empty is argocd/guestbook.
	Set types.NamespacedName
	// Chain says which ApplicationSets come after others.
	Chain []Link
	// Steps are those of the ApplicationSet; none are three without maxUpdate.
	Steps []Step
	// FourEyes is --approve-four-eyes of stepgate.
	FourEyes bool
	// Audit is stepgate's mode audit.
	Audit bool
	// Refuses is --hold=false of stepgate: it denies what it otherwise holds.
	Refuses bool
	// Ledger has stepgate keep what it has seen; without, a restart forgets all.
	Ledger bool
	// Hashes gives revisions the names that git gives them; without, they are counted: app.1.
	Hashes bool
	// Takes is how long something slow is Progressing; zero is 8 s.
	Takes time.Duration
	// Patience is for how long nothing may change, beside a poll, before a rehearsal stands still: the longest soak time.
	Patience     time.Duration
	Applications []Application
	Events       []Event
}

// Step is a step of the ApplicationSet.
type Step struct {
	// Wave is the sync wave that it is; nil for a step of RollingSync. Either all steps have one, or none.
	Wave *int
	// MaxUpdate is nil if there is none.
	MaxUpdate *intstr.IntOrString
}

// Application is an Application that exists at the beginning.
type Application struct {
	Name string
	Step int
	// Set is the name of its ApplicationSet; empty for the first one.
	Set string
	// Skew is how far the clock of its controller shard is ahead.
	Skew time.Duration
	// Compares is how much longer every comparison of it takes, as one of many resources does.
	Compares time.Duration
	// Compared is how long ago it was last compared; zero leaves that to the model.
	Compared time.Duration
	// Retries is its retry.limit; zero is the 5 of the ApplicationSet controller, and -1 no retry.
	Retries int64
	// Automated says that Argo CD syncs it by itself. RollingSync has that switched off: it goes with waves only.
	Automated bool
	// Track is the value of its label "track"; empty if it has none.
	Track string
	// From are the branches that it deploys, at most two; none are those of the layout.
	From []string
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
	fmt.Fprintf(&b, "argocd %s layout=%s poll=%s requeue=%s replicas=%d jitter=%d", s.Version, s.Layout, s.Poll,
		s.Requeue, s.Replicas, s.Jitter)
	if s.RetryRefresh {
		b.WriteString(" retry-refresh")
	}
	if s.NoGrace {
		b.WriteString(" no-grace")
	}
	if s.History != nil {
		fmt.Fprintf(&b, " history=%d", *s.History)
	}
	if s.Unstamped {
		b.WriteString(" unstamped")
	}
	if s.Pin != "" {
		b.WriteString(" pin=" + s.Pin)
	}
	if s.Start {
		b.WriteString(" start")
	}
	if s.MaxUpdate != "" {
		b.WriteString(" max-update=" + s.MaxUpdate)
	}
	if s.Audit {
		b.WriteString(" audit")
	}
	if s.Refuses {
		b.WriteString(" refuses")
	}
	if s.FourEyes {
		b.WriteString(" four-eyes")
	}
	if s.Ledger {
		b.WriteString(" ledger")
	}
	if s.Hashes {
		b.WriteString(" hashes")
	}
	if s.Takes != 0 {
		fmt.Fprintf(&b, " takes=%s", s.Takes)
	}
	if s.Patience != 0 {
		fmt.Fprintf(&b, " patience=%s", s.Patience)
	}
	b.WriteString("\n")
	if s.Set.Name != "" {
		fmt.Fprintf(&b, "set %s\n", s.Set)
	}
	for _, l := range s.Chain {
		fmt.Fprintf(&b, "after %s %s\n", l.Set, strings.Join(l.After, ","))
	}
	for _, step := range s.Steps {
		b.WriteString("step")
		if step.Wave != nil {
			fmt.Fprintf(&b, " wave=%d", *step.Wave)
		}
		if most := step.MaxUpdate; most != nil && most.Type == intstr.String {
			fmt.Fprintf(&b, " maxUpdate=%q", most.StrVal)
		} else if most != nil {
			fmt.Fprintf(&b, " maxUpdate=%d", most.IntVal)
		}
		b.WriteString("\n")
	}
	for _, a := range s.Applications {
		fmt.Fprintf(&b, "app %s %d", a.Name, a.Step)
		if a.Skew != 0 {
			fmt.Fprintf(&b, " skew=%s", a.Skew)
		}
		if a.Compares != 0 {
			fmt.Fprintf(&b, " compares=%s", a.Compares)
		}
		if a.Compared != 0 {
			fmt.Fprintf(&b, " compared=%s", a.Compared)
		}
		if a.Retries != 0 {
			fmt.Fprintf(&b, " retries=%d", a.Retries)
		}
		if a.Automated {
			b.WriteString(" automated")
		}
		if a.Set != "" {
			b.WriteString(" set=" + a.Set)
		}
		if a.Track != "" {
			b.WriteString(" track=" + a.Track)
		}
		if len(a.From) > 0 {
			b.WriteString(" from=" + strings.Join(a.From, ","))
		}
		b.WriteString("\n")
	}
	for _, e := range s.Events {
		fmt.Fprintf(&b, "+%s %s\n", e.After, e.Do)
	}
	return b.String()
}

// set names the ApplicationSet.
func (s *Scenario) set() types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(s.Set.Namespace, "argocd"), Name: cmp.Or(s.Set.Name, "guestbook")}
}

// steps are those of the ApplicationSet.
func (s *Scenario) steps() []Step {
	if len(s.Steps) == 0 {
		return make([]Step, 3)
	}
	return s.Steps
}
