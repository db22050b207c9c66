// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Actor is who ends what a sync waits for.
type Actor string

// The actors.
const (
	// You is a person.
	You Actor = "You"
	// Time is a moment that comes, or a verification that ends.
	Time Actor = "Time"
	// ArgoCD is at work, or about to be.
	ArgoCD Actor = "ArgoCD"
)

// Need is something that a sync waits for, in the words of a denial.
type Need struct {
	Reason Reason
	Actor  Actor
	// ApplicationSet is "namespace/name" of the one whose need it is; empty where there is none.
	ApplicationSet string
	// Step is 0-based; -1 where it is of no step.
	Step int
	// Application is the one that it is about, with its namespace where that is not the target's; empty for a condition.
	Application string
	// Text says what it is, and Do what somebody can do about it, who need not do anything where the Actor is another one.
	Text, Do string
	// Until is when it ends by itself, if nothing changes until then; zero when that is not known.
	Until time.Time
}

// Command does in a terminal what the need asks for; empty where no command of stepgate or Argo CD does.
func (n *Need) Command() string {
	for _, program := range []string{"stepgate ", "argocd app "} {
		if at := strings.Index(n.Do, program); at >= 0 {
			command, _, _ := strings.Cut(n.Do[at:], ";")
			command, _, _ = strings.Cut(command, ", ")
			return command
		}
	}
	return ""
}

// Need is what a denial says that is about the target itself, or about a condition.
func (d Decision) Need() Need {
	text, do := d.words()
	n := Need{
		Reason: d.Reason, Actor: d.actor(), ApplicationSet: d.ApplicationSet, Step: d.Step, Text: text, Do: do,
		Until: d.NotBefore,
	}
	if !d.Reason.Condition() {
		n.Application = d.Application
	}
	return n
}

// Actor is who ends a denial: You where somebody has to do something, whoever else has to as well.
func (d Decision) Actor() Actor {
	switch {
	case d.Root != nil:
		return d.Root.Actor
	case len(d.Blockers) == 0, d.Reason.Condition():
		return d.actor()
	}
	first := d.Blockers[0].actor()
	for i := range d.Blockers {
		if d.Blockers[i].actor() == You {
			return You
		}
	}
	return first
}

// actor is who ends a denial.
func (d *Decision) actor() Actor {
	switch {
	case !d.NotBefore.IsZero(), d.Reason == Unverified && !d.Refused:
		return Time
	case d.Ends != NoComparison:
		return ArgoCD
	case d.Reason == MaxUpdateReached && len(d.Blockers) > 0:
		return ArgoCD
	}
	return You
}

// Need is what a blocker of a target of an ApplicationSet says.
func (b *Blocker) Need(set string) Need {
	n := Need{
		Reason: b.Reason, Actor: b.actor(), ApplicationSet: set, Step: b.Step, Application: b.Named(), Text: b.text(),
		Do: b.WayOut(), Until: b.NotBefore,
	}
	if b.Reason != NotHealthy || b.Next != "" {
		return n
	}
	both, one := NotHealthy.wayOut("", b.Named()), "wait until "+b.Named()+" is Healthy"
	if n.Actor == You {
		one = "repair what is not Healthy: argocd app get " + b.Named()
	}
	n.Do = strings.Replace(n.Do, both, one, 1)
	return n
}

// text names it with its reason: guestbook-qa (NotHealthy: Degraded).
func (b *Blocker) text() string {
	why := string(b.Reason)
	if b.Detail != "" {
		why += ": " + b.Detail
	}
	return b.Named() + b.where() + " (" + why + ")"
}

// actor is who ends it.
func (b *Blocker) actor() Actor {
	switch {
	case !b.NotBefore.IsZero():
		return Time
	case b.Ends.Stale(), b.Reason == OperationInProgress, b.Reason == MaxUpdateReached, b.working():
		return ArgoCD
	}
	return You
}

// working reports whether it is on its way although nothing of it is compared or synced.
func (b *Blocker) working() bool {
	return b.Reason == NotHealthy && (strings.HasSuffix(b.Detail, "Progressing") || b.Detail == neverLookedAt) ||
		b.Reason == NotGenerated && slices.Contains([]string{notThere, Unwritten, OwnRollout}, b.Detail) ||
		b.Reason == NotCompleted && b.Detail == "hydration: Hydrating"
}

// NeverSynced is the need of an Application of which the rule says that it may sync, and that nobody syncs.
func (b *Blocker) NeverSynced(set string) Need {
	n := b.Need(set)
	n.Actor, n.Do = You, strings.ReplaceAll(outOfSync.next, "APP first: ", "APP: ")
	n.Do = strings.ReplaceAll(n.Do, "APP", b.Named())
	return n
}

// Due is the need of an Application that may sync, and that Argo CD is about to start.
func (d Decision) Due() Need {
	return Need{
		Reason: d.Reason, Actor: ArgoCD, ApplicationSet: d.ApplicationSet, Step: d.Step, Application: d.Application,
		Text: d.Application + " (it may start)",
		Do:   "wait until Argo CD starts it, or start it: argocd app sync " + d.Application,
	}
}

// urgency orders actors: first the one who has to be told.
func (a Actor) urgency() int {
	return map[Actor]int{You: 0, Time: 1, ArgoCD: 2}[a]
}

// CompareNeeds orders needs: first those about which somebody has to do something, and then by step and by name.
func CompareNeeds(a, b *Need) int {
	return cmp.Or(cmp.Compare(a.Actor.urgency(), b.Actor.urgency()), cmp.Compare(a.ApplicationSet, b.ApplicationSet),
		cmp.Compare(a.Step, b.Step), cmp.Compare(a.Application, b.Application), cmp.Compare(a.Text, b.Text))
}
