// SPDX-License-Identifier: Apache-2.0

package audit

import "slices"

// Verdict is how a rollout went.
type Verdict string

// The verdicts. The first that applies is the verdict of a rollout.
const (
	// OutOfOrder says that Argo CD started an Application of a later step too early.
	OutOfOrder Verdict = "OutOfOrder"
	// ByHand says that somebody did; an operation that is not marked as automated is one by hand.
	ByHand Verdict = "ByHand"
	// Unclear says that the records do not tell; a Reason says why.
	Unclear Verdict = "Unclear"
	// InOrder says that every Application with a record of the revision started after all of earlier steps with one had
	// finished.
	InOrder Verdict = "InOrder"
	// OneStep says that the Applications of one step only have a record of the revision, so there is nothing to
	// compare.
	OneStep Verdict = "OneStep"
	// leftOut is no verdict of a rollout, but of two Applications that are not compared.
	leftOut Verdict = ""
)

// Outcome is how a sync ended.
type Outcome string

// The outcomes of a sync.
const (
	Succeeded Outcome = "Succeeded"
	Failed    Outcome = "Failed"
	Running   Outcome = "Running"
)

// Reason is why the records of two Applications do not tell their order.
type Reason string

// The reasons, the most suspicious ones first.
const (
	// MayHaveWaited: the later step began before the earlier one and ended after it.
	MayHaveWaited Reason = "MayHaveWaited"
	// EarlierFailed: the later step started after a sync of the earlier one had failed, and no later one is on record.
	EarlierFailed Reason = "EarlierFailed"
	// EarlierByHand: the earlier step was synced by hand, after the later one.
	EarlierByHand Reason = "EarlierByHand"
	// OtherChange: the sync of the earlier step changed more than this revision.
	OtherChange Reason = "OtherChange"
	// WentBack: the earlier step had a newer revision before, so the branch went back.
	WentBack Reason = "WentBack"
	// Trimmed: the earlier step may have had the revision in a record that Argo CD has dropped.
	Trimmed Reason = "Trimmed"
	// SameSecond: both happened in one second.
	SameSecond Reason = "SameSecond"
	// NotWritten: stepgate's ledger does not say when the earlier step was complete.
	NotWritten Reason = "NotWritten"
)

// reasons are all of them, the most suspicious first.
func reasons() []Reason {
	return []Reason{MayHaveWaited, EarlierFailed, EarlierByHand, OtherChange, WentBack, Trimmed, SameSecond, NotWritten}
}

// suspicion is the position of a reason among all; the most suspicious one has 0.
func (r Reason) suspicion() int { return slices.Index(reasons(), r) }

// Text says for people why the order is unclear.
func (r Reason) Text() string {
	switch r {
	case MayHaveWaited:
		return "the later step started first and finished last; a sync that waited for a sync window or was retried looks " +
			"the same"
	case EarlierFailed:
		return "the sync of the earlier step had failed before, and how it became done is not on record"
	case EarlierByHand:
		return "the earlier step was synced by hand afterwards, and may not have needed it"
	case OtherChange:
		return "the earlier step was synced afterwards with other changes, and may not have needed this one"
	case WentBack:
		return "the earlier step had a newer revision before"
	case Trimmed:
		return "the history of the earlier step does not reach back that far"
	case SameSecond:
		return "the later step started in the second in which the earlier one finished, or was created"
	case NotWritten:
		return "stepgate's ledger does not say when the earlier step was complete"
	}
	return string(r)
}
