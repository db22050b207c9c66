package policy

import (
	"slices"
	"time"
)

// notDone returns the first reason why a sibling of an earlier step is not done, or "" when it is done. The order of
// the rows is part of the rule: an Application is blamed for what has to change first.
func notDone(a *Application, target *Target, firstSeen time.Time, s Settings) (Reason, string) {
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
	return notCompared(a, target, firstSeen)
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
// share a source whose revision is known on both sides, by time where they share none. A source that the operation or a
// change of spec leaves behind still has to match: naming another source is no way round the gate.
func notCompared(a *Application, target *Target, firstSeen time.Time) (Reason, string) {
	shared := false
	for _, source := range a.Compared {
		wanted := target.Wanted
		if !known(wanted, source.Key) {
			wanted = target.Compared
		} else if source.Revision != "" {
			shared = true
		}
		if source.Revision == "" || !known(wanted, source.Key) {
			continue
		}
		if !slices.Contains(wanted, source) && !ahead(a, target, source, wanted) {
			return RevisionMismatch, "compared to " + short(source.Revision) + ", not " + oneOf(wanted, source.Key)
		}
	}
	// Both times are cut to the second, the resolution of reconciledAt.
	if !shared && a.ReconciledAt.Truncate(time.Second).Before(firstSeen.Truncate(time.Second)) {
		return ComparisonOlder, "compared before the change to " + clean(target.Name) + " was seen"
	}
	return "", ""
}

// ahead reports whether a sibling that was compared at another revision than the target's is past it: it has run the
// target's revision, or it was reconciled later than the target. The latter proves something only where the wanted
// revision is the one that the target itself was compared with, and nothing when the target has already run what the
// sibling was compared with: then the sibling is behind (its comparison may have used a cached ref).
func ahead(a *Application, target *Target, source Source, wanted []Source) bool {
	own := true
	for _, w := range wanted {
		if w.Key != source.Key || w.Revision == "" {
			continue
		}
		if slices.Contains(a.Ran, w) {
			return true
		}
		own = own && slices.Contains(target.Compared, w)
	}
	return own && a.ReconciledAt.After(target.ReconciledAt) && !slices.Contains(target.Ran, source)
}

// known reports whether the revision of a source with the key is known.
func known(sources []Source, key string) bool {
	return slices.ContainsFunc(sources, func(s Source) bool { return s.Key == key && s.Revision != "" })
}

// firstSeen is when the target's change was first seen: by stepgate, else by the ApplicationSet controller. It is
// never the target's own reconciledAt, which keeps moving and would never let a rollout through. It is zero when
// neither has seen it, and then no comparison is too old: nothing could ever make it newer than the unknown.
func firstSeen(t Target, recorded map[string]Recorded) time.Time {
	if !t.FirstSeen.IsZero() {
		return t.FirstSeen
	}
	return recorded[t.Name].TransitionedAt
}
