package policy

import (
	"slices"
	"time"
)

// Evaluate decides whether the target may sync. It is total: every Input has a Decision. It denies unless it can show
// that every Application of the earlier steps is done, and that every condition of the step holds. It reports all blockers, not only
// the first.
func Evaluate(in Input) Decision {
	if d, settled := Scope(in); settled {
		return d
	}
	d := in.decision(Deny, "")
	if blockers := in.blockers(d.Step); len(blockers) > 0 {
		return d.blocked(blockers)
	}
	if denied, is := in.unsettled(d); is {
		return denied
	}
	detail, outdated := in.targetOutdated(d.Step)
	switch {
	case outdated:
		d.Reason, d.Detail = TargetOutdated, detail
		return d
	case in.alreadySynced():
		d.Reason = AlreadySynced
		return d
	}
	for _, unmet := range []condition{(*Input).tooManyFailures, (*Input).notApproved, (*Input).windowClosed} {
		if denied, is := unmet(&in, d); is {
			return denied
		}
	}
	d.Outcome, d.Reason = Allow, EarlierStepsDone
	if d.Step == 0 {
		d.Reason = FirstStep
	}
	return d
}

// Confirmed is a denial of which the first blocker was read again.
func (d Decision) Confirmed(first Blocker) Decision {
	blockers := slices.Clone(d.Blockers)
	blockers[0] = first
	return d.blocked(blockers)
}

// blocked is a denial because of blockers, of which there is at least one. It ends by itself if all of them do.
func (d Decision) blocked(blockers []Blocker) Decision {
	d.Blockers, d.Reason, d.NotBefore = blockers, blockers[0].Reason, time.Time{}
	for _, b := range blockers {
		if b.NotBefore.IsZero() {
			d.NotBefore = b.NotBefore
			break
		}
		if b.NotBefore.After(d.NotBefore) {
			d.NotBefore = b.NotBefore
		}
	}
	return d
}

// targetOutdated reports whether a sibling shows that the target was compared too early. The first one by name counts, so
// that the text stays the same.
func (in *Input) targetOutdated(step int) (detail string, outdated bool) {
	if !in.Settings.Require.byRevision() {
		return "", false
	}
	first := ""
	for _, a := range in.Siblings {
		if !a.Before(step) {
			continue
		}
		if found, is := in.outdatedBy(a.Application); is && in.isEarlier(a, step) && (!outdated || a.Name < first) {
			detail, outdated, first = found, true, a.Name
		}
	}
	for _, a := range in.Peers {
		if found, is := in.outdatedByPeer(a.Application); is && !in.isEarlier(a, step) && a.Name != in.Target.Name && !a.Deleting && (!outdated || a.Name < first) {
			detail, outdated, first = found, true, a.Name
		}
	}
	return detail, outdated
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
// otherwise the siblings of the steps before StepOf the target decide, and the conditions of its step.
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
	case set.Deleting:
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
	case in.Target.Deleting && op.Automated:
		return in.decision(Deny, TargetDeleting), true
	case step == 0 && !in.conditional(step):
		return in.decision(Allow, FirstStep), true
	case op.RollsBack && !op.Automated && !in.Settings.GateRollbacks && !in.Seen.Altered:
		return in.decision(Allow, Rollback), true
	case (op.Redeploys && !in.Seen.Unproven || in.Seen.Deployed) && op.Pinned && in.Target.SpecCompared && !in.Seen.Altered:
		return in.decision(Allow, SelfHeal), true
	case in.Settings.Conditions.Paused.Has(step):
		return in.paused(), true
	case step > 0 && op.Foreign && !op.RollsBack:
		return in.decision(Deny, ForeignContent), true
	case in.Settings.Pin && !in.Target.SpecCompared:
		return in.decision(Deny, TargetNotCompared), true
	case in.Settings.Pin && op.Automated && !op.Pinned:
		return in.decision(Deny, NotPinned), true
	}
	return in.decision(Deny, ""), false
}

// alreadySynced reports whether an operation that repeats a sync names no revision, as up to argo-cd v3.5: a commit that
// landed meanwhile would be deployed out of order.
func (in *Input) alreadySynced() bool {
	return in.Settings.Require.byRevision() && !in.Target.Operation.Pinned && Repeated(*in)
}

// Repeated reports whether the ApplicationSet controller asks again for a sync that has already run. It decides from a
// cache that is a moment old, and does so several times in each rollout. It does not need another sync to go on: it takes
// an Application from Pending to Progressing when an operation has started since the Application became Pending, and makes
// it Pending before it asks for the next one (argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go).
//
// A sync of something else than what is compared now is none that it asks for again: a user may have deployed another revision. Nor
// is one after which the Application was found OutOfSync again: up to argo-cd v3.2 the controller mends drift.
func Repeated(in Input) bool {
	t, recorded := &in.Target, in.ApplicationSet.Recorded[in.Target.Name]
	inTurn := recorded.Started || !recorded.TransitionedAt.IsZero() && t.SyncStartedAt.After(recorded.TransitionedAt)
	return t.Operation.Automated && !t.SyncStartedAt.IsZero() && inTurn && !in.ranOther()
}

// ranOther reports whether the target has run something else than the operation and the comparison are of, or was found OutOfSync
// after that. Without a history nothing tells.
func (in *Input) ranOther() bool {
	t := &in.Target
	return t.OutOfSyncSince || len(t.Ran) > 0 && (in.changed() || slices.ContainsFunc(t.Compared, func(s Source) bool {
		running, known := t.running(s.Key)
		return known && running != s
	}))
}

// step is the latest of the target's steps by its new labels, by its old ones, and by the ApplicationSet's status: editing a
// label is no way round the gate, in the same write or in one before. Only the new one counts if the status records it: then
// the ApplicationSet itself has moved the Application. Its controller writes that status first, by the labels that it
// generates, and then the label and the operation in one patch (argo-cd v3.5.7, buildAppDependencyList in
// applicationset/progressivesync/progressive_sync.go). It removes the status where progressive syncs are switched off.
func (in *Input) step() int {
	set, t := in.ApplicationSet, &in.Target
	if set == nil {
		return -1
	}
	step, recorded := StepOf(set.Steps, t.Labels), set.Recorded[t.Name].Step-1
	if step >= 0 && step == recorded {
		return step
	}
	if t.OldLabels != nil {
		step = max(step, StepOf(set.Steps, t.OldLabels))
	}
	return max(step, recorded)
}

func (in *Input) decision(o Outcome, r Reason) Decision {
	d := Decision{Outcome: o, Reason: r, Application: in.Target.Name, Step: in.step()}
	if in.ApplicationSet != nil {
		d.ApplicationSet = in.ApplicationSet.Namespace + "/" + in.ApplicationSet.Name
	}
	return d
}
