package main

import "slices"

// part is a part of the rule, and how to take it out.
type part struct {
	name  string
	edits []edit
	// conditions says that it is looked for in histories with conditions.
	conditions bool
}

// edit replaces a text of a file by another one.
type edit struct{ file, old, now string }

// take takes a part out of one file: texts, each followed by the one that replaces it.
func take(name, file string, texts ...string) part { return part{name: name}.and(file, texts...) }

// and takes more out of another file.
func (p part) and(file string, texts ...string) part {
	for text := range slices.Chunk(texts, 2) {
		p.edits = append(p.edits, edit{file: file, old: text[0], now: text[1]})
	}
	return p
}

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
	deployed   = "webhook/history/deployed.go"
	settling   = "policy/settling.go"
)

const (
	newest  = `in.Seen.Past(a.Name).Freshness == Newest`
	skipped = `wanted == nil || in.completed(a) {`
)

// parts are first the repairs of the findings, then the rows of the rule, then the conditions. A finding has the name that it has in testdata.
func parts() []part { return append(ofOrder(), ofConditions()...) }

func ofOrder() []part {
	return []part{
		take("Pin", settings, `s.Pin = g.config.Pin != PinOff && s.mode == Enforce`, `s.Pin = false`),
		take("PinnedSources", pin, `p.add("/operation/sync/source", spec.GetSource())`, ``, `p.add("/operation/sync/source", app.Spec.exact("source", spec.GetSource()))`, ``,
			`sync.Revision, sync.Source = p.Revisions[0], &source`, `_, sync.Revision = source, p.Revisions[0]`).
			and(target, ` && (d.overrides || !t.Operation.Automated)`, ``),
		take("RetryRefresh", pin, `pin.add("/operation/retry/refresh", false)`, ``, `op.Sync, op.Retry.Refresh = &sync, false`, `op.Sync = &sync`).
			and(target, `d.pinned(t.Compared) && !op.Retry.Refresh`, `d.pinned(t.Compared)`),
		take("NamedPin", pin, `case d.pinned(compared(spec, &status.Sync, &status.SourceHydrator)):`, `case false:`).
			and(target, ` && !op.Retry.Refresh && (d.overrides || !t.Operation.Automated)`, ``),
		take("AutomatedSources", target, ` && (d.overrides || !t.Operation.Automated)`, ``),
		take("A4", target, ` && !d.equals(before.Sync.ComparedTo, before.Sync.Revision, before.Sync.Revisions)`, ``),
		take("A5", revision, newest, `slices.ContainsFunc(a.Ran, func(s Source) bool { return slices.Contains(in.Target.Wanted, s) })`, skipped, `true || wanted == nil {`),
		take("Skipped", revision, skipped, `wanted == nil || in.Target.Operation.Pinned {`),
		take("A6", revision, newest, `a.ReconciledAt.After(in.Target.ReconciledAt)`, skipped, `wanted == nil || in.Target.Operation.Pinned {`),
		take("WentBack", revision, newest, `in.Seen.Past(a.Name).Freshness >= Fresh`, skipped, `wanted == nil || in.Target.Operation.Pinned {`),
		take("ComparedBack", revision, `!slices.ContainsFunc(done[:at], compared)`, `(true || compared(done[at]))`),
		take("RunsBack", revision, `!slices.ContainsFunc(done[at+1:], runs)`, `(true || runs(done[at]))`),
		take("WantsBack", revision, `slices.Contains(in.Target.Ran, w) && !in.Target.runs(w) })`, `false && !in.Target.runs(w) })`),
		take("RanBack", revision, `!slices.ContainsFunc(a.Compared, ran)`, `(true || ran(Source{}))`),
		take("A7", revision, `(in.pendingElsewhere(a) || in.changedBehind()) && in.Seen.Past(a.Name).Freshness < Fresh`,
			`in.Seen.Past(a.Name).Freshness < Fresh && in.pendingElsewhere(a) && !slices.ContainsFunc(a.Compared, func(s Source) bool { return known(in.Target.Wanted, s.Key) })`),
		take("A8", done, `case a.Hydration == "Hydrating" || a.Hydration == "Failed" || a.Hydration == Outdated:`, `case false:`),
		take("Uncompared", done, `case a.Hydration == Uncompared:`, `case false:`),
		take("Unseen", deployed, ` && r.operatedAt.Equal(operatedAt)`, ``),
		take("SyncingTo", deployed, `case r.operating && r.syncingWith != otherwise:`, `case false:`),
		take("SpecSettling", settling, `case !last.IsZero() && in.Now.Before(until):`, `case false:`),
		take("Joined", settling, `last := in.Seen.Joined`, `var last time.Time`),
		take("Respecified", settling, `latest(last, in.Seen.Respecified, in.Seen.ContentSince)`, `latest(last)`),
		take("ApplicationSetFailing", settling, `case in.changed() && in.ApplicationSet.Failing != "" && in.ApplicationSet.FailingStep < d.Step:`, `case false:`),
		take("FailingStep", settling, ` && in.ApplicationSet.FailingStep < d.Step:`, `:`),
		take("Around", "webhook/argocd/content.go", `return " " + strconv.FormatUint(uint64(hashOf(parts)), 16)`, `return strconv.Itoa(0)[1:]`),
		take("Unproven", evaluate, `op.Redeploys && !in.Seen.Unproven`, `op.Redeploys`),
		take("A9", done, `a.Moved || in.Seen.Past(a.Name).Altered || `, ``),
		take("A10", revision, `(in.pendingElsewhere(a) || in.changedBehind()) && in.Seen.Past(a.Name).Freshness < Fresh`,
			`in.pendingElsewhere(a) && a.ReconciledAt.Before(in.ApplicationSet.Recorded[in.Target.Name].TransitionedAt)`),
		take("ChangedBehind", revision, `(in.pendingElsewhere(a) || in.changedBehind())`, `in.pendingElsewhere(a)`),
		take("B1", evaluate, `step >= 0 && step == recorded`, `false`),
		take("Hold", hold, `if !m.gate.isApplicationSetController(w.user) || !m.gate.config.Hold && !respecified {`, `if true || respecified {`),
		take("Release", "test/simulation/stepgate.go", `Release: true`, `Release: false`, `if r.reviewAt > 0 && r.reviewAt <= at {`, `if r != nil {`),
		take("Idle", release, `append(append(wanted, r.needed(d, p)...), idle(d, byName)...)`, `append(wanted, r.needed(d, p)...)`),
		take("Unrecorded", release, `if s.mode == Enforce && unrecorded(p, &set.ApplicationSet) {`, `if false && unrecorded(p, &set.ApplicationSet) {`),
		take("Refresh", comparison, `if (b.Reason.Stale() || b.Reason.OfRevision()) && b.Step <= last {`, `if false && b.Step <= last {`),
		take("RefreshUnpolled", comparison, `b.Reason.Stale() || b.Reason.OfRevision()`, `b.Reason.Stale()`),
		take("FailedUnpolled", "policy/reason.go", `NotHydrated, OperationFailed:`, `NotHydrated:`),
		take("B3", done, `(since && recorded.healthyAt(a.Compared) || in.completedSince(a))`, `since && false`),

		take("Completed", done, `in.completed(a) && !in.pendingElsewhere(a)`, `slices.ContainsFunc(a.Ran, func(s Source) bool { return slices.Contains(in.Target.Wanted, s) }) && !in.pendingElsewhere(a)`).
			and("policy/proven.go", ` || !in.Seen.Past(a.Name).completed(candidate)`, ``),
		take("TrainChanged", done, ` && (len(in.Target.Ran) == 0 || !in.changedBehind())`, ``),
		take("SameSources", revision, `(changed || !in.Target.runs(w))`, `(changed && false || !in.Target.runs(w))`),
		take("FailedHook", done, `return last.AtCompared || applied`, `return last.AtCompared || applied && false`),
		take("AppliedBefore", done, `applied := last.Applied || !last.StartedAt.IsZero() && last.StartedAt.Equal(in.Seen.Past(a.Name).Applied)`, `applied := last.Applied`),
		take("RanOther", evaluate, `inTurn && !in.ranOther()`, `inTurn`),
		take("Mended", evaluate, `return t.OutOfSyncSince || len`, `return len`),
		take("RollbackDestination", evaluate, ` && !in.Seen.Altered:
		return in.decision(Allow, Rollback), true`, `:
		return in.decision(Allow, Rollback), true`),
		take("Parameters", "webhook/history/record.go", `r.fingerprint == fingerprint && slices.Equal`, `slices.Equal`),
		take("SameSecond", done, `since := a.LastSync.FinishedAt.Before(recorded.TransitionedAt) && a.LastOperation.FinishedAt.Before(recorded.TransitionedAt)`,
			`since := !a.LastSync.FinishedAt.After(recorded.TransitionedAt) && !a.LastOperation.FinishedAt.After(recorded.TransitionedAt)`),
		take("SeenSynced", done, `(since && recorded.healthyAt(a.Compared) || in.completedSince(a))`, `(since && recorded.healthyAt(a.Compared))`),
		take("ClusterLag", deployed, `at.Sub(finished) > clusterLag`, `at.After(finished)`),
		take("Unsure", deployed, `case !app.SpecCompared && r.deployedWith == "":`, `case false:`),

		take("TargetNotCompared", evaluate, `case in.Settings.Pin && !in.Target.SpecCompared:`, `case false:`),
		take("NotPinned", evaluate, `case in.Settings.Pin && op.Automated && !op.Pinned:`, `case false:`),
		take("TargetOutdated", evaluate, `case outdated:`, `case false && outdated:`),
		take("AlreadySynced", evaluate, `case in.alreadySynced():`, `case false && in.alreadySynced():`),
		take("NotCreated", "policy/blockers.go", `found := in.missing(step)`, `found := in.missing(0)`),
		take("OperationInProgress", done, `case a.OperationSet || a.LastOperation.Running():`, `case false:`),
		take("NotReconciled", done, `case a.ReconciledAt.IsZero() || a.Health == "":`, `case false:`),
		take("NotHealthy", done, `case a.Health != "Healthy":`, `case false:`),
		take("SpecNotCompared", done, `case !a.SpecCompared:`, `case false:`),
		take("RefreshPending", done, `case a.RefreshRequested:`, `case false:`),
		take("HealthStale", done, `case last.Full && last.FinishedAt.After(a.ReconciledAt):`, `case false:`),
		take("HealthStaleSameSecond", done, `case a.SyncStatus != "Synced" && a.LastSync.AtCompared && sameSecond(a.LastSync.FinishedAt, a.ReconciledAt):`, `case false:`),
		take("HealthStaleOtherRevision", done, `case last.Full && !last.AtCompared && sameSecond(last.FinishedAt, a.ReconciledAt):`, `case false:`),
		take("NotSynced", done, `case a.SyncStatus != "Synced" && !in.drifted(a) && !in.leftOutOfSync(a):`, `case false:`),
		take("OperationFailed", done, `case in.failed(a) && !in.Settings.AllowFailedOperations:`, `case false:`),
		take("RevisionMismatch", revision, `wanted != nil && !in.goneOn(a)`, `false && wanted != nil`),
	}
}
