package policy

// Reason is the code of one row of the rule. Reasons appear in denials, audit annotations, metric labels and Events, and
// docs/decisions.md explains each.
type Reason string

// Reasons why a write is not gated, in the order in which they are looked for.
const (
	NotAnOperationWrite    Reason = "NotAnOperationWrite"
	DryRunOperation        Reason = "DryRunOperation"
	NotManaged             Reason = "NotManaged"
	ApplicationSetNotFound Reason = "ApplicationSetNotFound"
	NotRollingSync         Reason = "NotRollingSync"
	Deleting               Reason = "Deleting"
	GateOff                Reason = "GateOff"
	Bypassed               Reason = "Bypassed"
	NotSelected            Reason = "NotSelected"
)

// Reasons why a gated write is allowed.
const (
	FirstStep        Reason = "FirstStep"
	Rollback         Reason = "Rollback"
	SelfHeal         Reason = "SelfHeal"
	EarlierStepsDone Reason = "EarlierStepsDone"
)

// Reasons why a gated write is denied although no sibling holds it up: the target itself is not ready, or a condition of its step does not
// hold. The siblings of TooManyFailures are in the target's own step.
const (
	TargetDeleting        Reason = "TargetDeleting"
	Paused                Reason = "Paused"
	ForeignContent        Reason = "ForeignContent"
	TargetNotCompared     Reason = "TargetNotCompared"
	NotPinned             Reason = "NotPinned"
	SpecSettling          Reason = "SpecSettling"
	ApplicationSetFailing Reason = "ApplicationSetFailing"
	TargetOutdated        Reason = "TargetOutdated"
	AlreadySynced         Reason = "AlreadySynced"
	TooManyFailures       Reason = "TooManyFailures"
	NotApproved           Reason = "NotApproved"
	WindowClosed          Reason = "WindowClosed"
)

// Reasons why a sibling of an earlier step is not done, in the order in which they are looked for.
const (
	OperationInProgress Reason = "OperationInProgress"
	NotCreated          Reason = "NotCreated"
	NotReconciled       Reason = "NotReconciled"
	NotHealthy          Reason = "NotHealthy"
	NotHydrated         Reason = "NotHydrated"
	SyncUnknown         Reason = "SyncUnknown"
	SpecNotCompared     Reason = "SpecNotCompared"
	RefreshPending      Reason = "RefreshPending"
	HealthStale         Reason = "HealthStale"
	NotSynced           Reason = "NotSynced"
	OperationFailed     Reason = "OperationFailed"
	RevisionMismatch    Reason = "RevisionMismatch"
	ComparisonOlder     Reason = "ComparisonOlder"
	Soaking             Reason = "Soaking"
)

// Reasons lists every Reason of the rule: first those of writes, then those of blockers, each in the order of the rule.
func Reasons() []Reason {
	return []Reason{
		NotAnOperationWrite, DryRunOperation, NotManaged, ApplicationSetNotFound, NotRollingSync, Deleting, GateOff,
		Bypassed, NotSelected, FirstStep, Rollback, SelfHeal, EarlierStepsDone,
		TargetDeleting, Paused, ForeignContent, TargetNotCompared, NotPinned, SpecSettling, ApplicationSetFailing, TargetOutdated, AlreadySynced, TooManyFailures, NotApproved, WindowClosed,
		OperationInProgress, NotCreated, NotReconciled, NotHealthy, NotHydrated, SyncUnknown, SpecNotCompared, RefreshPending,
		HealthStale, NotSynced, OperationFailed, RevisionMismatch, ComparisonOlder, Soaking,
	}
}

// Condition reports whether the reason is a condition of a step, which somebody has set up. All but TooManyFailures are waits as they are
// meant to be, and nobody has to be woken for them.
func (r Reason) Condition() bool {
	switch r {
	case Paused, Soaking, TooManyFailures, NotApproved, WindowClosed:
		return true
	default:
		return false
	}
}

// Stale reports whether the reason says only that a sibling was compared too early: a refresh may clear it. HealthStale
// would clear by itself, but the ApplicationSet controller does not wake up for a comparison that finds nothing new. A
// refresh wakes it.
func (r Reason) Stale() bool {
	switch r {
	case SpecNotCompared, RefreshPending, HealthStale, RevisionMismatch, ComparisonOlder, TargetOutdated:
		return true
	default:
		return false
	}
}

// OfRevision reports whether the reason may end because the branch points to another revision by now. Argo CD notices that
// by itself, unless polling is switched off.
func (r Reason) OfRevision() bool {
	switch r {
	case NotSynced, SyncUnknown, NotHydrated, OperationFailed:
		return true
	default:
		return false
	}
}

// wayOut says what an operator can do about a blocker. It follows "Next: " in a denial.
func (r Reason) wayOut(application string) string {
	switch r {
	case OperationInProgress:
		return "wait until the operation of " + application + " has ended"
	case NotCreated:
		return "wait until the ApplicationSet controller has created " + application
	case NotReconciled, HealthStale, RefreshPending, TargetNotCompared:
		return "wait until Argo CD has compared " + application
	case NotHydrated:
		return "wait until the source hydrator has hydrated " + application + ", or read its status.sourceHydrator"
	case TargetDeleting:
		return "wait until " + application + " is deleted; if it stays, look at its finalizers"
	case ForeignContent:
		return "bring the change to Git, where it passes the earlier steps, or bypass stepgate for this sync"
	case NotPinned:
		return "check that stepgate's MutatingWebhookConfiguration exists and that its Pods are ready"
	case NotHealthy:
		return "wait until " + application + " is Healthy, or repair it"
	case SyncUnknown:
		return "read the conditions of " + application + ": Argo CD cannot compare it"
	case SpecNotCompared, RevisionMismatch, ComparisonOlder, TargetOutdated:
		return "refresh " + application + ": argocd app get " + application + " --refresh"
	case NotSynced:
		return "sync " + application + " first: argocd app sync " + application
	case OperationFailed:
		return "sync " + application + " again: argocd app sync " + application
	case Soaking:
		return "wait, or change the annotation stepgate.io/soak"
	default:
		return "wait until " + application + " is done"
	}
}
