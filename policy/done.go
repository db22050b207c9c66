package policy

import (
	"slices"
	"time"
)

// notDone returns the first reason why a sibling of an earlier step is not done, or "" when it is done. The order of
// the rows is part of the rule: the reason names what has to change first.
func notDone(a *Application, target *Target, changeSeen time.Time, s Settings) (Reason, string) {
	switch {
	case a.OperationSet || a.LastOperation.Phase == "Running" || a.LastOperation.Phase == "Terminating":
		return OperationInProgress, ""
	case a.ReconciledAt.IsZero() || a.Health == "":
		return NotReconciled, ""
	case a.Health != "Healthy":
		return NotHealthy, clean(a.Health)
	}
	if s.Require == RequireHealth {
		return "", ""
	}
	if reason, detail := notSynced(a, s); reason != "" || s.Require == RequireSynced {
		return reason, detail
	}
	return notCompared(a, target, changeSeen)
}

// notSynced asks whether the sibling is up to date with its own spec and its own last operation.
func notSynced(a *Application, s Settings) (Reason, string) {
	last := a.LastOperation
	switch {
	case a.SyncStatus == "" || a.SyncStatus == "Unknown":
		return SyncUnknown, ""
	case !a.SpecCompared:
		return SpecNotCompared, ""
	case a.RefreshRequested:
		return RefreshPending, ""
	case last.Full && last.FinishedAt.After(a.ReconciledAt):
		return HealthStale, "compared before its last operation ended"
	case a.SyncStatus != "Synced" && !drifted(a):
		return NotSynced, clean(a.SyncStatus)
	case last.Full && last.AtCompared && (last.Phase == "Failed" || last.Phase == "Error") && !s.AllowFailedOperations:
		return OperationFailed, clean(last.Phase)
	}
	return "", ""
}

// drifted reports whether an OutOfSync Application is so although the very thing it was compared with has been
// deployed: somebody changed the cluster since, and the rollout is not held up for that. From argo-cd v3.3 on the
// ApplicationSet controller would never sync it again, so that blocking on it would last for ever.
func drifted(a *Application) bool {
	return a.SyncStatus == "OutOfSync" && a.LastSync.AtCompared && !a.LastSync.FinishedAt.IsZero() &&
		a.ReconciledAt.After(a.LastSync.FinishedAt)
}

// notCompared asks whether the sibling was compared with what the target is about to deploy: by revision where they
// share a source whose revision is known on both sides, by time where they share none.
func notCompared(a *Application, target *Target, changeSeen time.Time) (Reason, string) {
	shared := false
	for _, source := range a.Compared {
		if source.Revision == "" {
			continue
		}
		shared = shared || known(target.Wanted, source.Key)
		wanted := target.deploys(source.Key)
		if known(wanted, source.Key) && !slices.Contains(wanted, source) && !ahead(a, target, source, wanted) {
			return RevisionMismatch, "compared to " + short(source.Revision) + ", not " + oneOf(wanted, source.Key)
		}
	}
	// Both times are cut to the second, the resolution of reconciledAt.
	if !shared && a.ReconciledAt.Truncate(time.Second).Before(changeSeen.Truncate(time.Second)) {
		return ComparisonOlder, "compared before the change to " + clean(target.Name) + " was seen"
	}
	return "", ""
}

// deploys returns the sources that tell which revision of a source siblings have to match. A source that the operation
// or a change of spec leaves behind counts with the revision that the target was compared with: naming another source is
// no way round the gate.
func (t *Target) deploys(key string) []Source {
	if known(t.Wanted, key) {
		return t.Wanted
	}
	return t.Compared
}

// ahead reports whether a sibling that was compared at another revision than the target's has passed it: it has run the
// wanted revision, or it was reconciled later than the target. The time counts only where the target itself was compared
// with the wanted revision. It does not count when the target has already run the sibling's revision: then the sibling is
// behind (its comparison may have used a cached ref).
func ahead(a *Application, target *Target, source Source, wanted []Source) bool {
	compared := true
	for _, w := range wanted {
		if w.Key != source.Key || w.Revision == "" {
			continue
		}
		if slices.Contains(a.Ran, w) {
			return true
		}
		compared = compared && slices.Contains(target.Compared, w)
	}
	return compared && a.ReconciledAt.After(target.ReconciledAt) && !slices.Contains(target.Ran, source)
}

// known reports whether the revision of a source with the key is known.
func known(sources []Source, key string) bool {
	return slices.ContainsFunc(sources, func(s Source) bool { return s.Key == key && s.Revision != "" })
}

// changeSeen is when the target's change was first seen: by stepgate, else by the ApplicationSet controller. It is
// never the target's own reconciledAt: that keeps moving, and no rollout would get through. It is zero when neither
// saw the change. Then no comparison is too old, because none could become newer than an unknown time.
func (in Input) changeSeen() time.Time {
	if !in.FirstSeen.IsZero() {
		return in.FirstSeen
	}
	return in.ApplicationSet.Recorded[in.Target.Name].TransitionedAt
}
