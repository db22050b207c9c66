// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"
)

// The rule is these lists, each in the order in which its rows are asked.
var (
	// writeRows settle what needs no read at all, and scopeRows what needs the ApplicationSet but no sibling.
	writeRows = []settling{notAnOperationWrite, dryRunOperation, notManaged}
	scopeRows = []settling{
		applicationSetNotFound, notRollingSync, gateOff, bypassed, notSelected, targetDeleting, firstStep,
		rollback, selfHeal,
		paused, contentUnknown, notPinned,
	}
	// siblingRows say why a sibling of an earlier step is not done, by level: see notDone. notCreated and soaking are
	// asked beside them.
	siblingRows = []blocking{
		operationInProgress, notHealthy, notCompleted, operationFailed,
	}
	// stepRows deny although every sibling is done.
	stepRows = []waiting{
		notGenerated, notReady, tooManyFailures, unverified, notApproved, windowClosed, maxUpdateReached,
	}
)

// Evaluate decides whether the target may sync: it is Scope and, if that does not settle the write, Weigh. It is total:
// every Input has a Decision.
func Evaluate(in Input) Decision {
	d, settled := Scope(in)
	if settled {
		return d
	}
	return Weigh(in, d)
}

// Relevant settles the writes that need no read at all. Settled means that the Decision is final.
func Relevant(t Target) (d Decision, settled bool) {
	in := Input{Target: t}
	for i := range writeRows {
		if r := &writeRows[i]; r.settles(&in, -1) {
			return Decision{Outcome: r.outcome, Reason: r.reason, Step: -1}, true
		}
	}
	return Decision{Step: -1}, false
}

// Scope settles the writes that need the ApplicationSet but no sibling. Settled means that the Decision is final;
// otherwise Weigh decides: by the siblings of the steps before StepOf the target, and the conditions of its step.
func Scope(in Input) (d Decision, settled bool) {
	if d, settled := Relevant(in.Target); settled {
		return d, true
	}
	d = in.decision()
	for i := range scopeRows {
		if r := &scopeRows[i]; r.settles(&in, d.Step) {
			d.Outcome, d.Reason = r.outcome, r.reason
			if r.says != nil {
				d = r.says(&in, d)
			}
			return d, true
		}
	}
	return d, false
}

// Weigh decides by the siblings and by the conditions of the step. d is what Scope says of the same Input, without
// settling it. Weigh denies unless it can show that every Application of the earlier steps is done, and that every
// condition of the step holds. It reports all blockers, not only the first.
func Weigh(in Input, d Decision) Decision {
	in.foresee()
	if blockers := in.blockers(d.Step); len(blockers) > 0 {
		return d.blocked(blockers)
	}
	for i := range stepRows {
		r := &stepRows[i]
		if !in.Settings.Require.asks(r.level) {
			continue
		}
		if denied, ok := r.denies(&in, d); ok {
			denied.Reason = r.reason
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

// step is the latest of the target's steps by its new labels, by its old ones, by the labels that it was seen to have a
// moment ago, and, where the new ones are of no step or the watch does not know it, by the ApplicationSet's status:
// editing a label is no way round the gate, in the same write or in one before, until the ApplicationSet controller has
// had the time to write it again. Only the new one counts if the status records it: then the ApplicationSet itself has
// moved the Application. Its controller writes that status first, by the labels that it generates, and then the label
// and the operation in one patch (argo-cd v3.5.7, buildAppDependencyList in
// applicationset/progressivesync/progressive_sync.go). It removes the status where progressive syncs are switched off.
// Up to v3.2 it may name an old step for ever: see before.
func (in *Input) step() int {
	set, t := in.ApplicationSet, &in.Target
	if set == nil {
		return -1
	}
	step, recorded := set.StepOf(t.Labels), set.Recorded[t.Name].Step-1
	if step >= 0 && step == recorded {
		return step
	}
	seen := in.History.Past(t.Name).Step - 1
	if step < 0 || seen < 0 {
		seen = max(seen, recorded)
	}
	if t.OldLabels != nil {
		step = max(step, set.StepOf(t.OldLabels))
	}
	return max(step, seen)
}

// decision denies the target, and does not say why.
func (in *Input) decision() Decision {
	d := Decision{Application: in.Target.Name, Step: in.step()}
	if in.ApplicationSet != nil {
		d.ApplicationSet = in.ApplicationSet.Namespace + "/" + in.ApplicationSet.Name
	}
	return d
}
