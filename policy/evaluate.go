package policy

// Evaluate decides whether the target may sync. It is total: every Input has a Decision. It denies unless it can show
// that every Application of the earlier steps is done. It reports all blockers, not only the first.
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

// alreadySynced reports whether the ApplicationSet controller asks again for a sync that has already run. It decides from
// a cache that is a moment old, and does so several times in each rollout. Up to argo-cd v3.5 its operation names no
// revision: a commit that landed meanwhile would be deployed out of order. The controller does not need another sync to go
// on: it takes an Application from Pending to Progressing when an operation has started since the Application became
// Pending, and makes it Pending before it asks for the next one (argo-cd v3.5.7,
// applicationset/progressivesync/progressive_sync.go).
func (in Input) alreadySynced() bool {
	synced, recorded := in.Target.SyncStartedAt, in.ApplicationSet.Recorded[in.Target.Name]
	inTurn := recorded.Started || !recorded.TransitionedAt.IsZero() && synced.After(recorded.TransitionedAt)
	return in.Settings.Require == RequireRevision && in.Target.Operation.Automated && !in.Target.Operation.Pinned &&
		!synced.IsZero() && inTurn
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
