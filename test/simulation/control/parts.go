package main

// part is a part of the rule, and how to take it out: one text of one file, replaced by another.
type part struct{ name, file, old, new string }

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
		{"Pin", settings, `s.Pin = g.config.Pin != PinOff && s.mode == Enforce`, `s.Pin = false`},
		{"PinnedSources", pin, `pin.add("/operation/sync/source", spec.GetSource())`, ``},
		{"RetryRefresh", pin, `pin.add("/operation/retry/refresh", false)`, ``},
		{"A4", target, ` && !d.equals(before.Sync.ComparedTo, before.Sync.Revision, before.Sync.Revisions)`, ``},
		{"A5", revision, `last >= 0 && !slices.Contains(a.Followed[:last], later)`, `last >= 0`},
		{"A6", revision, `fresh := in.Seen.Fresh[a.Name]`, `fresh := a.ReconciledAt.After(in.Target.ReconciledAt)`},
		{"A7", revision, `!in.Seen.Fresh[a.Name] && in.pendingElsewhere(a)`,
			`!in.Seen.Fresh[a.Name] && in.pendingElsewhere(a) && !slices.ContainsFunc(a.Compared, func(s Source) bool { return known(in.Target.Wanted, s.Key) })`},
		{"A8", done, `case a.Hydration == "Hydrating" || a.Hydration == "Failed":`, `case false:`},
		{"A9", done, `in.Seen.Moved[a.Name] || a.Moved || `, ``},
		{"A10", revision, `!in.Seen.Fresh[a.Name] && in.pendingElsewhere(a)`,
			`in.pendingElsewhere(a) && a.ReconciledAt.Before(in.ApplicationSet.Recorded[in.Target.Name].TransitionedAt)`},
		{"B1", evaluate, `step >= 0 && set.Recorded[t.Name].Step == step+1`, `false`},
		{"Hold", hold, `if !m.gate.isApplicationSetController(w.user) || !m.gate.config.Hold && !respecified {`, `if true || respecified {`},
		{"Release", release, `if d.Outcome != policy.Deny {`, `if false && d.Outcome != policy.Deny {`},
		{"Refresh", comparison, `if b.Reason.Stale() || b.Reason.OfRevision() {`, `if false {`},
		{"RefreshUnpolled", comparison, `b.Reason.Stale() || b.Reason.OfRevision()`, `b.Reason.Stale()`},
		{"B3", done, `(since && recorded.healthyAt(a.Compared) || in.seenSynced(a))`, `since && false`},

		{"Completed", done, `(!in.ranBefore(a, w, source) || !slices.Contains(in.Seen.Completed[a.Name], w))`, `!in.ranBefore(a, w, source)`},
		{"Followed", "webhook/argocd/sibling.go", `return !h.InitiatedBy.Automated`, `return false`},
		{"Tried", revision, `s.Key == earlier.Key && slices.Contains(in.Target.Ran, s)`, `s.Key == earlier.Key && false`},
		{"SameSources", revision, `(changed || !in.Target.runs(w))`, `(changed && false || !in.Target.runs(w))`},
		{"FailedHook", done, `(last.AtCompared || last.Applied)`, `last.AtCompared`},
		{"RollbackDestination", evaluate, ` && !in.Seen.Moved[in.Target.Name]:
		return in.decision(Allow, Rollback), true`, `:
		return in.decision(Allow, Rollback), true`},
		{"Parameters", seen, `o.fingerprint == fingerprint && slices.Equal`, `slices.Equal`},
		{"SameSecond", done, `since := a.LastSync.FinishedAt.Before(recorded.TransitionedAt) && a.LastOperation.FinishedAt.Before(recorded.TransitionedAt)`,
			`since := !a.LastSync.FinishedAt.After(recorded.TransitionedAt) && !a.LastOperation.FinishedAt.After(recorded.TransitionedAt)`},
		{"SeenSynced", done, `(since && recorded.healthyAt(a.Compared) || in.seenSynced(a))`, `(since && recorded.healthyAt(a.Compared))`},
		{"Unsure", seen, `case !app.SpecCompared && o.deployedTo == "":`, `case false:`},

		{"TargetNotCompared", evaluate, `case in.Settings.Pin && !in.Target.SpecCompared:`, `case false:`},
		{"NotPinned", evaluate, `case in.Settings.Pin && op.Automated && !op.Pinned:`, `case false:`},
		{"TargetOutdated", evaluate, `case outdated:`, `case false && outdated:`},
		{"AlreadySynced", evaluate, `case in.alreadySynced():`, `case false && in.alreadySynced():`},
		{"NotCreated", "policy/blockers.go", `found := in.missing(step)`, `found := in.missing(0)`},
		{"OperationInProgress", done, `case a.OperationSet || a.LastOperation.Phase == "Running" || a.LastOperation.Phase == "Terminating":`, `case false:`},
		{"NotReconciled", done, `case a.ReconciledAt.IsZero() || a.Health == "":`, `case false:`},
		{"NotHealthy", done, `case a.Health != "Healthy":`, `case false:`},
		{"SpecNotCompared", done, `case !a.SpecCompared:`, `case false:`},
		{"RefreshPending", done, `case a.RefreshRequested:`, `case false:`},
		{"HealthStale", done, `case last.Full && last.FinishedAt.After(a.ReconciledAt):`, `case false:`},
		{"HealthStale, same second", done, `case a.SyncStatus != "Synced" && a.LastSync.AtCompared && sameSecond(a.LastSync.FinishedAt, a.ReconciledAt):`, `case false:`},
		{"HealthStale, other revision", done, `case last.Full && !last.AtCompared && sameSecond(last.FinishedAt, a.ReconciledAt):`, `case false:`},
		{"NotSynced", done, `case a.SyncStatus != "Synced" && !in.drifted(a):`, `case false:`},
		{"OperationFailed", done, `case last.failed() && !in.Settings.AllowFailedOperations:`, `case false:`},
		{"RevisionMismatch", revision, `wanted != nil && !in.newer(a, source, wanted)`, `false && wanted != nil`},
	}
}
