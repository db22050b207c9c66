package policy

import (
	"cmp"
	"slices"
)

// blockers are the Applications of the steps before step that are not done, by step and then by name. Those that only soak come last:
// nobody has to do anything about them.
func (in *Input) blockers(step int) []Blocker {
	found := in.missing(step)
	for _, sibling := range in.Siblings {
		if b, blocks := in.blocker(sibling, step); blocks {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, func(a, b Blocker) int {
		return cmp.Or(a.soaking()-b.soaking(), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Application, b.Application), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Detail, b.Detail))
	})
	return found
}

// BlockedBy reports whether one Application alone blocks the target. sibling is nil when no live Application of the
// ApplicationSet has the name. The input's Siblings are ignored: the rule never weighs one sibling against another, but that it counts
// failures.
func BlockedBy(in Input, name string, sibling *Application) (b Blocker, blocks bool) {
	if _, settled := Scope(in); settled {
		return Blocker{}, false
	}
	step := in.step()
	if sibling != nil {
		return in.blocker(sibling, step)
	}
	if r := in.ApplicationSet.Recorded[name]; in.awaits(name, r, step) {
		return notCreated(name, r), true
	}
	return Blocker{}, false
}

// blocker reports whether a live sibling holds up a target of the step.
func (in *Input) blocker(sibling *Application, step int) (b Blocker, blocks bool) {
	if !in.isEarlier(sibling, step) {
		return Blocker{}, false
	}
	b = Blocker{Application: sibling.Name, Cluster: sibling.Cluster, Step: StepOf(in.ApplicationSet.Steps, sibling.Labels), ComparedAt: sibling.ReconciledAt}
	if b.Reason, b.Detail = in.notDone(sibling); b.Reason != "" {
		return b, true
	}
	until, detail, soaks := in.soaks(sibling, step)
	b.Reason, b.Detail, b.NotBefore = Soaking, detail, until
	return b, soaks
}

// isEarlier reports whether a sibling has to be done before a target of the step.
func (in *Input) isEarlier(sibling *Application, step int) bool {
	at := StepOf(in.ApplicationSet.Steps, sibling.Labels)
	return 0 <= at && at < step && sibling.Name != in.Target.Name && !sibling.Deleting &&
		in.ApplicationSet.Recorded[sibling.Name].Step != -1 && !in.Settings.Excluded[sibling.Name]
}

// missing are the Applications that are recorded under a step before step, and are not among the siblings.
func (in *Input) missing(step int) []Blocker {
	absent := 0
	for name, r := range in.ApplicationSet.Recorded {
		if in.awaits(name, r, step) {
			absent++
		}
	}
	for _, sibling := range in.Siblings {
		if in.awaits(sibling.Name, in.ApplicationSet.Recorded[sibling.Name], step) {
			absent--
		}
	}
	if absent == 0 {
		return nil // nearly always, and then no set of live names is needed
	}
	live := make(map[string]bool, len(in.Siblings))
	for _, sibling := range in.Siblings {
		live[sibling.Name] = true
	}
	var found []Blocker
	for name, r := range in.ApplicationSet.Recorded {
		if in.awaits(name, r, step) && !live[name] {
			found = append(found, notCreated(name, r))
		}
	}
	return found
}

// awaits reports whether an Application has to exist because it is recorded under a step before step.
func (in *Input) awaits(name string, r Recorded, step int) bool {
	return r.Step > 0 && r.Step <= step && name != in.Target.Name && !in.Settings.Excluded[name]
}

// notCreated is the blocker for a recorded Application that does not exist. Its name is cleaned: unlike the name of an
// object, a recorded name is any text.
func notCreated(name string, r Recorded) Blocker {
	return Blocker{Application: Printable(name, maxName), Step: r.Step - 1, Reason: NotCreated}
}
