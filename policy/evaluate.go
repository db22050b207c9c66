package policy

import (
	"cmp"
	"slices"
)

// Evaluate decides whether the target may sync. It is total: every Input has a Decision, and what it cannot prove it
// denies. All blockers are reported, not only the first.
func Evaluate(in Input) Decision {
	if d, settled := Scope(in); settled {
		return d
	}
	d := in.decision(Deny, "")
	d.Blockers = blockers(in, d.Step)
	switch {
	case len(d.Blockers) > 0:
		d.Reason = d.Blockers[0].Reason
	case in.alreadySynced():
		d.Reason = AlreadySynced
	default:
		d.Outcome, d.Reason = Allow, EarlierStepsDone
	}
	return d
}

// Relevant settles the writes that need no read at all. Settled means that the Decision is final.
func Relevant(t Target) (d Decision, settled bool) {
	switch {
	case !t.Operation.Written:
		return Decision{Outcome: NotGated, Reason: NotAnOperationWrite, Step: -1}, true
	case t.Operation.DryRun:
		return Decision{Outcome: NotGated, Reason: DryRunOperation, Step: -1}, true
	case !t.Managed:
		return Decision{Outcome: NotGated, Reason: NotManaged, Step: -1}, true
	}
	return Decision{Step: -1}, false
}

// Scope settles the writes that need the ApplicationSet but no sibling. Settled means that the Decision is final;
// otherwise the siblings of the steps before StepOf the target decide.
func Scope(in Input) (d Decision, settled bool) {
	if d, settled := Relevant(in.Target); settled {
		return d, true
	}
	set, op := in.ApplicationSet, in.Target.Operation
	switch {
	case set == nil:
		return in.decision(NotGated, ApplicationSetNotFound), true
	case !set.RollingSync || len(set.Steps) == 0:
		return in.decision(NotGated, NotRollingSync), true
	case set.Deleting || in.Target.Deleting:
		return in.decision(NotGated, Deleting), true
	case in.Settings.Off:
		return in.decision(NotGated, GateOff), true
	case in.Settings.Bypassed:
		return in.decision(NotGated, Bypassed), true
	}
	step := in.step()
	switch {
	case step < 0:
		return in.decision(NotGated, NotSelected), true
	case step == 0:
		return in.decision(Allow, FirstStep), true
	case op.RollsBack && !op.Automated && !in.Settings.GateRollbacks:
		return in.decision(Allow, Rollback), true
	}
	return in.decision(Deny, ""), false
}

// alreadySynced reports whether the ApplicationSet controller asks again for a sync that it has had. From a cache that
// is a moment old it does so, several times in each rollout. Up to argo-cd v3.5 its operation names no revision, so that a
// commit that landed meanwhile would be deployed, out of order. The controller needs no other sync to go on: it takes an
// Application from Pending to Progressing when an operation has started since it became Pending, and makes it Pending
// before it asks for another (argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go).
func (in Input) alreadySynced() bool {
	last, recorded := in.Target.LastOperation, in.ApplicationSet.Recorded[in.Target.Name]
	had := recorded.Started || !recorded.TransitionedAt.IsZero() && last.StartedAt.After(recorded.TransitionedAt)
	return in.Settings.Require == RequireRevision && in.Target.Operation.Automated && !in.Target.Operation.Pinned &&
		last.Full && last.Phase == "Succeeded" && had
}

// step is the later of the target's old and new step: editing a label in the same write is no way round the gate.
func (in Input) step() int {
	if in.ApplicationSet == nil {
		return -1
	}
	return max(StepOf(in.ApplicationSet.Steps, in.Target.Labels), oldStep(in))
}

func oldStep(in Input) int {
	if in.Target.OldLabels == nil {
		return -1
	}
	return StepOf(in.ApplicationSet.Steps, in.Target.OldLabels)
}

func (in Input) decision(o Outcome, r Reason) Decision {
	d := Decision{Outcome: o, Reason: r, Step: in.step()}
	if in.ApplicationSet != nil {
		d.ApplicationSet = in.ApplicationSet.Namespace + "/" + in.ApplicationSet.Name
	}
	return d
}

// blockers are the Applications of the steps before step that are not done, by step and then by name.
func blockers(in Input, step int) []Blocker {
	found := missing(in, step)
	recorded := in.ApplicationSet.Recorded
	seen := firstSeen(in.Target, recorded)
	for _, sibling := range in.Siblings {
		at := StepOf(in.ApplicationSet.Steps, sibling.Labels)
		if at < 0 || at >= step || sibling.Name == in.Target.Name || sibling.Deleting || recorded[sibling.Name].Step == -1 {
			continue
		}
		if reason, detail := notDone(sibling, &in.Target, seen, in.Settings); reason != "" {
			found = append(found, Blocker{Application: sibling.Name, Step: at, Reason: reason, Detail: detail, ComparedAt: sibling.ReconciledAt})
		}
	}
	slices.SortFunc(found, func(a, b Blocker) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Application, b.Application), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Detail, b.Detail))
	})
	return found
}

// missing are the Applications that are recorded under a step before step, and are not among the siblings.
func missing(in Input, step int) []Blocker {
	awaited := func(name string, r Recorded) bool { return r.Step > 0 && r.Step <= step && name != in.Target.Name }
	absent := 0
	for name, r := range in.ApplicationSet.Recorded {
		if awaited(name, r) {
			absent++
		}
	}
	for _, sibling := range in.Siblings {
		if awaited(sibling.Name, in.ApplicationSet.Recorded[sibling.Name]) {
			absent--
		}
	}
	if absent == 0 {
		return nil // nearly always; which are live need not be noted down then
	}
	live := make(map[string]bool, len(in.Siblings))
	for _, sibling := range in.Siblings {
		live[sibling.Name] = true
	}
	var found []Blocker
	for name, r := range in.ApplicationSet.Recorded {
		if awaited(name, r) && !live[name] {
			// Unlike the name of an object, this one is any text.
			found = append(found, Blocker{Application: bounded(name, maxName), Step: r.Step - 1, Reason: NotCreated})
		}
	}
	return found
}
