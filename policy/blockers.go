// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
	"time"
)

// blockers are the Applications of the steps before step that are not done, by step and then by name. Those that only
// soak come last: nobody has to do anything about them.
func (in *Input) blockers(step int) []Blocker {
	found := in.missing(step)
	for i := range in.Siblings {
		if r := in.stops(&in.Siblings[i], step); r.Reason != "" {
			found = append(found, in.Siblings[i].holdsUp(r))
		}
	}
	slices.SortFunc(found, func(a, b Blocker) int {
		return cmp.Or(a.soaking()-b.soaking(), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Application, b.Application),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Detail, b.Detail))
	})
	return found
}

// BlockedBy reports whether one Application alone blocks a target of a step that Scope has not settled. sibling is nil
// when no live Application of the ApplicationSet has the name. The input's Siblings are ignored: the rule never weighs
// one sibling against another, but that it counts failures.
func BlockedBy(in Input, step int, name string, sibling *Application) (b Blocker, blocks bool) {
	if sibling != nil {
		in.foresee()
		member := in.ApplicationSet.Sibling(sibling)
		why := in.stops(&member, step)
		return member.holdsUp(why), why.Reason != ""
	}
	r := in.ApplicationSet.Recorded[name]
	if c, is := in.ApplicationSet.Sets[name]; is {
		r = c.recorded()
	}
	if in.awaits(name, r, step) {
		return in.ApplicationSet.doesNotExist(name, r), true
	}
	return Blocker{}, false
}

// stop is why a sibling holds a target up, and until when, if that is known.
type stop struct {
	Reason
	detail, next string
	ends         Comparison
	until        time.Time
}

// stops returns why a live sibling holds up a target of the step; without a Reason if it does not.
func (in *Input) stops(sibling *Sibling, step int) (why stop) {
	if !in.before(sibling, step) {
		return why
	}
	why = in.ApplicationSet.orOrphan(sibling.Name, in.notDone(sibling.Application))
	if why.Reason == "" {
		var soaks bool
		if why.until, why.detail, soaks = in.soaks(sibling.Application, step); !soaks {
			return stop{}
		}
		why.Reason = Soaking
	}
	if !in.isEarlier(*sibling, step) {
		return stop{}
	}
	return why
}

// holdsUp is the sibling as a blocker.
func (s *Sibling) holdsUp(why stop) Blocker {
	b := s.blocker(why)
	b.Step = s.earliest()
	return b
}

// blocker is the Application as a blocker of no step.
func (a *Application) blocker(why stop) Blocker {
	return Blocker{
		Application: a.Name, Cluster: a.Cluster, Step: -1, Reason: why.Reason, Detail: why.detail, Next: why.next,
		Ends: why.ends, ComparedAt: a.ReconciledAt, Refreshing: a.RefreshRequested, NotBefore: why.until,
	}
}

// isEarlier reports whether a sibling has to be done before a target of the step.
func (in *Input) isEarlier(sibling Sibling, step int) bool {
	return in.before(&sibling, step) && !sibling.Deleting && sibling.Name != in.Target.Name &&
		!in.Settings.Excluded[sibling.Name] && (in.Settings.Track == "" || in.sharesTrack(sibling.Application))
}

// before reports whether a sibling is in a step before step. The step that the ApplicationSet's status records does not
// count where the watch has seen the sibling in a later one: NotGenerated then holds all steps for a moment, and the
// status of one that is Waiting may name the old step for ever (argo-cd v3.2.12, setApplicationSetStatus in
// applicationset/controllers/applicationset_controller.go).
func (in *Input) before(s *Sibling, step int) bool {
	return s.Before(step) && (s.Step < step || in.History.Past(s.Name).Step != s.Step+1)
}

// Before reports whether a sibling is in a step before step, by its labels or by the ApplicationSet's status: taking a
// label off an Application that is not done is no way round the gate. An orphan is in none. It reads nothing of the
// Application: with thousands of siblings that counts.
func (s *Sibling) Before(step int) bool {
	return !s.Orphan() && (0 <= s.Step && s.Step < step || 0 < s.RecordedStep && s.RecordedStep <= step)
}

// earliest is the earlier one of its steps by its labels and by the status.
func (s *Sibling) earliest() int {
	if s.RecordedStep > 0 && (s.Step < 0 || s.RecordedStep <= s.Step) {
		return s.RecordedStep - 1
	}
	return s.Step
}
