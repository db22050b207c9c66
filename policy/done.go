package policy

import (
	"slices"
	"time"
)

// notDone returns the first reason why a sibling of an earlier step is not done, or "" when it is done. The order of
// the rows is part of the rule: the reason names what has to change first.
func (in *Input) notDone(a *Application) (Reason, string) {
	if in.Settings.Train && in.passed(a) {
		return notBroken(a)
	}
	switch {
	case a.OperationSet || a.LastOperation.Running():
		return OperationInProgress, a.LastOperation.trouble()
	case a.ReconciledAt.IsZero() || a.Health == "":
		return NotReconciled, ""
	case a.Health != "Healthy":
		return NotHealthy, clean(a.Health)
	}
	if in.Settings.Require == RequireHealth {
		return "", ""
	}
	if reason, detail := in.notSynced(a); reason != "" || in.Settings.Require == RequireSynced {
		return reason, detail
	}
	return in.notCompared(a)
}

// Running reports whether it has started and not ended.
func (last *LastOperation) Running() bool {
	return last.Phase == "Running" || last.Phase == "Terminating"
}

// trouble says that a running operation does not come to its end at once, as where its cluster does not answer.
func (last *LastOperation) trouble() string {
	if last.Running() && last.Retried {
		return "its sync failed, and is tried again"
	}
	return ""
}

// notSynced asks whether the sibling is up to date with its own spec and its own last operation.
func (in *Input) notSynced(a *Application) (Reason, string) {
	last := a.LastOperation
	switch {
	case a.Hydration == "Hydrating" || a.Hydration == "Failed" || a.Hydration == Outdated:
		return NotHydrated, clean(a.Hydration)
	case a.Hydration == Uncompared:
		return ComparisonOlder, "compared before it was hydrated"
	case a.SyncStatus == "" || a.SyncStatus == "Unknown":
		return SyncUnknown, ""
	case !a.SpecCompared:
		return SpecNotCompared, ""
	case a.RefreshRequested:
		return RefreshPending, ""
	case last.Full && last.FinishedAt.After(a.ReconciledAt):
		return HealthStale, "compared before its last operation ended"
	case a.SyncStatus != "Synced" && a.LastSync.AtCompared && sameSecond(a.LastSync.FinishedAt, a.ReconciledAt):
		return HealthStale, "compared in the second in which its last sync ended"
	case last.Full && !last.AtCompared && sameSecond(last.FinishedAt, a.ReconciledAt):
		return HealthStale, "compared in the second in which its last operation ended"
	case a.SyncStatus != "Synced" && !in.drifted(a) && !in.leftOutOfSync(a):
		if a.OnlyPruning {
			return NotSynced, clean(a.SyncStatus) + onlyPruning
		}
		return NotSynced, clean(a.SyncStatus)
	case in.failed(a) && !in.Settings.AllowFailedOperations:
		return OperationFailed, clean(last.Phase)
	}
	return "", ""
}

// failed reports whether the last operation failed, and that still counts. It does until something else is deployed: while
// the revision that it ran is compared, and after that, too, if it applied everything and only a hook failed. A newer
// commit that does not touch the Application changes nothing about that. If less was applied, and the Application is
// Synced at another revision, then the commit was taken back.
func (in *Input) failed(a *Application) bool {
	last := &a.LastOperation
	if !last.Full || last.Phase != "Failed" && last.Phase != "Error" {
		return false
	}
	applied := last.Applied || !last.StartedAt.IsZero() && last.StartedAt.Equal(in.Seen.Past(a.Name).Applied)
	return last.AtCompared || applied
}

// drifted reports whether an OutOfSync Application has deployed the very thing that it was compared with: somebody has
// changed the cluster since. That does not hold the rollout up. From argo-cd v3.3 on the ApplicationSet controller would
// never sync it again, and blocking on it would last for ever.
//
// It has deployed a revision if its last sync did, or if it was Synced there without a sync, because the commit did not touch it:
// that was seen, or the ApplicationSet controller has recorded it as Healthy at that revision in a later second than the one of
// its last operation. A new destination is no drift.
func (in *Input) drifted(a *Application) bool {
	if a.SyncStatus != "OutOfSync" || a.Moved || in.Seen.Past(a.Name).Altered || a.LastSync.FinishedAt.IsZero() || !a.ReconciledAt.After(a.LastSync.FinishedAt) {
		return false
	}
	recorded := in.ApplicationSet.Recorded[a.Name]
	since := a.LastSync.FinishedAt.Before(recorded.TransitionedAt) && a.LastOperation.FinishedAt.Before(recorded.TransitionedAt)
	return a.LastSync.AtCompared || a.LastSync.SameSources && (since && recorded.healthyAt(a.Compared) || in.completedSince(a))
}

// onlyPruning is what the detail of NotSynced says of an Application that Argo CD need not sync.
const onlyPruning = ", only pruning is left"

// leftOutOfSync reports whether an OutOfSync Application counts as done because its owner leaves it so: nothing is left of what it was compared
// with but to prune, or its last sync deployed that.
func (in *Input) leftOutOfSync(a *Application) bool {
	return in.Settings.Require == RequireCompleted && a.SyncStatus == "OutOfSync" && !a.Moved && !in.Seen.Past(a.Name).Altered &&
		(a.LastSync.AtCompared || a.LastSync.SameSources && a.OnlyPruning)
}

// completedSince reports whether the Application has completed what it is compared with, and has not been operated since.
func (in *Input) completedSince(a *Application) bool {
	return slices.ContainsFunc(in.Seen.Past(a.Name).Completions, func(c Completion) bool {
		return slices.Equal(c.Sources, a.Compared) && c.OperatedAt.Equal(a.LastOperation.StartedAt)
	})
}

// healthyAt reports whether the ApplicationSet controller has found the Application Healthy and Synced at what it is
// compared with now. The controller records the revisions that it saw.
func (r Recorded) healthyAt(compared []Source) bool {
	if !r.Healthy || len(r.Revisions) == 0 || len(r.Revisions) > len(compared) {
		return false
	}
	for i, revision := range r.Revisions {
		if revision == "" || revision != compared[i].Revision {
			return false
		}
	}
	return true
}

// Behind reports whether the ApplicationSet controller records another revision as the last one at which it was Healthy
// than the compared one. It has to notice that, and may have slept: it does not wake up when nothing but the revision of
// an OutOfSync Application changes (argo-cd v3.5.7, shouldRequeueForApplication).
func (r Recorded) Behind(compared []Source) bool {
	return r.Healthy && len(r.Revisions) > 0 && !r.healthyAt(compared)
}

// passed reports whether the sibling has completed everything that the target deploys, whatever it does now: it has gone on to another revision,
// or is about to. What the target changes beside the revision, it may have completed without that.
func (in *Input) passed(a *Application) bool {
	_, wanted := in.mismatched(a.Compared)
	return (wanted != nil || a.Health == "Healthy" && a.SpecCompared) && in.completed(a) && !in.pendingElsewhere(a) && (len(in.Target.Ran) == 0 || !in.changedBehind())
}

// notBroken asks of a sibling that has passed the target only that it is not found broken: it may be on its way to a
// newer revision.
func notBroken(a *Application) (Reason, string) {
	switch a.Health {
	case "Healthy", "Progressing":
		return "", ""
	}
	return NotHealthy, clean(a.Health)
}

// sameSecond compares at the resolution of Argo CD's times.
func sameSecond(a, b time.Time) bool {
	return !a.IsZero() && a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}
