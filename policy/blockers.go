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
	for _, sibling := range in.Siblings {
		if b, blocks := in.blocker(sibling, step); blocks {
			found = append(found, b)
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
		return in.blocker(in.ApplicationSet.Place(sibling), step)
	}
	if r := in.ApplicationSet.Recorded[name]; in.awaits(name, r, step) {
		return doesNotExist(name, r), true
	}
	return Blocker{}, false
}

// blocker reports whether a live sibling holds up a target of the step.
func (in *Input) blocker(sibling Sibling, step int) (b Blocker, blocks bool) {
	if !sibling.Before(step) {
		return Blocker{}, false
	}
	reason, detail := in.notDone(sibling.Application)
	var until time.Time
	if reason == "" {
		var soaks bool
		if until, detail, soaks = in.soaks(sibling.Application, step); !soaks {
			return Blocker{}, false
		}
		reason = Soaking
	}
	return Blocker{
		Application: sibling.Name, Cluster: sibling.Cluster, Step: sibling.earliest(), Reason: reason, Detail: detail,
		ComparedAt: sibling.ReconciledAt, NotBefore: until,
	}, in.isEarlier(sibling, step)
}

// isEarlier reports whether a sibling has to be done before a target of the step.
func (in *Input) isEarlier(sibling Sibling, step int) bool {
	return sibling.Before(step) && !sibling.Deleting && sibling.Name != in.Target.Name &&
		!in.Settings.Excluded[sibling.Name]
}

// Before reports whether a sibling is in a step before step, by its labels or by the ApplicationSet's status: taking a
// label off an Application that is not done is no way round the gate. One that is recorded under no step is in none. It
// reads nothing of the Application: with thousands of siblings that counts.
func (s *Sibling) Before(step int) bool {
	return s.RecordedStep != -1 && (0 <= s.Step && s.Step < step || 0 < s.RecordedStep && s.RecordedStep <= step)
}

// earliest is the earlier one of its steps by its labels and by the status.
func (s *Sibling) earliest() int {
	if s.RecordedStep > 0 && (s.Step < 0 || s.RecordedStep <= s.Step) {
		return s.RecordedStep - 1
	}
	return s.Step
}
