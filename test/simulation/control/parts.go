package main

// part is a part of the rule, and how to take it out: texts of one file, each followed by the one that replaces it.
type part struct {
	name, file string
	edits      []string
}

func take(name, file string, edits ...string) part { return part{name, file, edits} }

const (
	evaluate   = "policy/evaluate.go"
	done       = "policy/done.go"
	revision   = "policy/revision.go"
	target     = "webhook/argocd/target.go"
	pin        = "webhook/argocd/pin.go"
	settings   = "webhook/settings.go"
	hold       = "webhook/hold.go"
	release    = "webhook/release.go"
	comparison = "webhook/comparison.go"
	seen       = "webhook/siblings/seen.go"
)

// parts are first the repairs of the findings, then the rows of the rule. A finding has the name that it has in testdata.
func parts() []part {
	return []part{
		take("Pin", settings, `s.Pin = g.config.Pin != PinOff && s.mode == Enforce`, `s.Pin = false`),
		take("PinnedSources", pin, `pin.add("/operation/sync/source", spec.GetSource())`, ``),
		take("RetryRefresh", pin, `pin.add("/operation/retry/refresh", false)`, ``),
		take("A4", target, ` && !d.equals(before.Sync.ComparedTo, before.Sync.Revision, before.Sync.Revisions)`, ``),
		take("A5", revision, `if !fresh || !slices.Contains(in.Target.Compared, w) && !in.ranBefore(a, w, source) {`, `if !fresh && !slices.Contains(a.Ran, w) {`,
			`wanted != nil && (!in.Target.Operation.Pinned || slices.Contains(in.Target.Ran, source))`, `false`),
		take("A6", revision, `fresh := in.Seen.Fresh[a.Name]`, `fresh := a.ReconciledAt.After(in.Target.ReconciledAt)`),
		take("A7", revision, `!in.Seen.Fresh[a.Name] && in.pendingElsewhere(a)`,
			`!in.Seen.Fresh[a.Name] && in.pendingElsewhere(a) && !slices.ContainsFunc(a.Compared, func(s Source) bool { return known(in.Target.Wanted, s.Key) })`),
		take("A8", done, `case a.Hydration == "Hydrating" || a.Hydration == "Failed":`, `case false:`),
		take("A9", done, `in.Seen.Moved[a.Name] || a.Moved || `, ``),
		take("A10", revision, `!in.Seen.Fresh[a.Name] && in.pendingElsewhere(a)`,
			`in.pendingElsewhere(a) && a.ReconciledAt.Before(in.ApplicationSet.Recorded[in.Target.Name].TransitionedAt)`),
		take("B1", evaluate, `step >= 0 && set.Recorded[t.Name].Step == step+1`, `false`),
		take("Hold", hold, `if !m.gate.isApplicationSetController(w.user) || !m.gate.config.Hold && !respecified {`, `if true || respecified {`),
		take("Release", release, `if d.Outcome != policy.Deny {`, `if false && d.Outcome != policy.Deny {`),
		take("Refresh", comparison, `if b.Reason.Stale() || b.Reason.OfRevision() {`, `if false {`),
		take("RefreshUnpolled", comparison, `b.Reason.Stale() || b.Reason.OfRevision()`, `b.Reason.Stale()`),
		take("B3", done, `(since && recorded.healthyAt(a.Compared) || in.seenSynced(a))`, `since && false`),

		take("Completed", done, `(!in.ranBefore(a, w, source) || !slices.Contains(in.Seen.Completed[a.Name], w))`, `!in.ranBefore(a, w, source)`),
		take("Followed", "webhook/argocd/sibling.go", `return !h.InitiatedBy.Automated`, `return false`),
		take("Tried", revision, `s.Key == earlier.Key && slices.Contains(in.Target.Ran, s)`, `s.Key == earlier.Key && false`),
		take("SameSources", revision, `(changed || !in.Target.runs(w))`, `(changed && false || !in.Target.runs(w))`),
		take("FailedHook", done, `(last.AtCompared || last.Applied)`, `last.AtCompared`),
		take("RollbackDestination", evaluate, ` && !in.Seen.Moved[in.Target.Name]:
		return in.decision(Allow, Rollback), true`, `:
		return in.decision(Allow, Rollback), true`),
		take("Parameters", seen, `o.fingerprint == fingerprint && slices.Equal`, `slices.Equal`),
		take("SameSecond", done, `since := a.LastSync.FinishedAt.Before(recorded.TransitionedAt) && a.LastOperation.FinishedAt.Before(recorded.TransitionedAt)`,
			`since := !a.LastSync.FinishedAt.After(recorded.TransitionedAt) && !a.LastOperation.FinishedAt.After(recorded.TransitionedAt)`),
		take("SeenSynced", done, `(since && recorded.healthyAt(a.Compared) || in.seenSynced(a))`, `(since && recorded.healthyAt(a.Compared))`),
		take("Unsure", seen, `case !app.SpecCompared && o.deployedTo == "":`, `case false:`),

		take("TargetNotCompared", evaluate, `case in.Settings.Pin && !in.Target.SpecCompared:`, `case false:`),
		take("NotPinned", evaluate, `case in.Settings.Pin && op.Automated && !op.Pinned:`, `case false:`),
		take("TargetOutdated", evaluate, `case outdated:`, `case false && outdated:`),
		take("AlreadySynced", evaluate, `case in.alreadySynced():`, `case false && in.alreadySynced():`),
		take("NotCreated", "policy/blockers.go", `found := in.missing(step)`, `found := in.missing(0)`),
		take("OperationInProgress", done, `case a.OperationSet || a.LastOperation.Phase == "Running" || a.LastOperation.Phase == "Terminating":`, `case false:`),
		take("NotReconciled", done, `case a.ReconciledAt.IsZero() || a.Health == "":`, `case false:`),
		take("NotHealthy", done, `case a.Health != "Healthy":`, `case false:`),
		take("SpecNotCompared", done, `case !a.SpecCompared:`, `case false:`),
		take("RefreshPending", done, `case a.RefreshRequested:`, `case false:`),
		take("HealthStale", done, `case last.Full && last.FinishedAt.After(a.ReconciledAt):`, `case false:`),
		take("HealthStale, same second", done, `case a.SyncStatus != "Synced" && a.LastSync.AtCompared && sameSecond(a.LastSync.FinishedAt, a.ReconciledAt):`, `case false:`),
		take("HealthStale, other revision", done, `case last.Full && !last.AtCompared && sameSecond(last.FinishedAt, a.ReconciledAt):`, `case false:`),
		take("NotSynced", done, `case a.SyncStatus != "Synced" && !in.drifted(a):`, `case false:`),
		take("OperationFailed", done, `case last.failed() && !in.Settings.AllowFailedOperations:`, `case false:`),
		take("RevisionMismatch", revision, `wanted != nil && !in.newer(a, source, wanted)`, `false && wanted != nil`),
	}
}
