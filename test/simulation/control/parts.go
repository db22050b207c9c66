// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

// part is a part of the rule, and how to take it out.
type part struct {
	name  string
	edits []edit
	// of is the flag for the histories in which it is looked for; empty for those without conditions.
	of string
}

// edit replaces a text of a file by another one.
type edit struct{ file, old, now string }

// take takes a part out of one file: texts, each followed by the one that replaces it.
func take(name, file string, texts ...string) part { return part{name: name}.and(file, texts...) }

// row takes a row out of the lists of the rule.
func row(name, variable string) part { return take(name, evaluate, variable+",", "") }

// lacks takes one case out of a row of siblings.
func lacks(name, file, variable string) part {
	return take(name, file, variable+",", "")
}

// and takes more out of another file.
func (p part) and(file string, texts ...string) part {
	for text := range slices.Chunk(texts, 2) {
		p.edits = append(p.edits, edit{file: file, old: text[0], now: text[1]})
	}
	return p
}

const (
	evaluate    = "policy/evaluate.go"
	done        = "policy/done.go"
	revision    = "policy/revision.go"
	target      = "webhook/argocd/target.go"
	pin         = "webhook/argocd/pin.go"
	way         = "webhook/course/course.go"
	release     = "webhook/release/look.go"
	need        = "webhook/release/need.go"
	deployed    = "webhook/history/deployed.go"
	generated   = "policy/reason_not_generated.go"
	completed   = "policy/reason_not_completed.go"
	healthy     = "policy/reason_not_healthy.go"
	outdated    = "policy/outdated.go"
	drift       = "policy/drift.go"
	lag         = "policy/lag.go"
	operation   = "policy/reason_operation_failed.go"
	again       = "policy/reason_already_synced.go"
	completions = "webhook/history/completions.go"
	histories   = "webhook/cluster/histories.go"
)

const (
	newest  = `in.History.Past(a.Name).Freshness == Newest`
	skipped = `wanted == nil || in.completed(a) {`
)

// parts are first the repairs of the findings, then the rows of the rule, the conditions, the evidence and the chains. A
// finding has the name that it has in testdata.
func parts() []part {
	return slices.Concat(ofFindings(), ofRows(), ofConditions(), ofEvidence(), ofChains(), ofLedger(), inAll())
}

func ofFindings() []part {
	return []part{
		take("Pin", way, `way.Pin = c.pin(w, way.Input)`, `way.Pin = Pin{}`).and(evaluate, ` notPinned,`, ``),
		take("PinnedSources", pin, `p.add("/operation/sync/source", spec.GetSource())`, ``,
			`p.add("/operation/sync/source", app.Spec.exact("source", spec.GetSource()))`, ``,
			`sync.Revision, sync.Source = p.Revisions[0], &source`, `_, sync.Revision = source, p.Revisions[0]`).
			and(target, ` && (d.overrides || !t.Operation.Automated)`, ``),
		take("RetryRefresh", pin, `pin.add("/operation/retry/refresh", false)`, ``,
			`op.Sync, op.Retry.Refresh = &sync, false`, `op.Sync = &sync`).
			and(target, `d.pinned(t.Compared) && !op.Retry.Refresh`, `d.pinned(t.Compared)`),
		take("Adopted", "webhook/judge/cached.go", `if len(sets) != 1 {`, `if len(sets) != 1 || len(w.Owners) != 1 {`),
		take("NamedPin", pin, `case d.pinned(compared(spec, &status.Sync, &status.SourceHydrator)):`, `case false:`).
			and(target, ` && !op.Retry.Refresh && (d.overrides || !t.Operation.Automated)`, ``),
		take("AutomatedSources", target, ` && (d.overrides || !t.Operation.Automated)`, ``),
		take("A4", target, ` && !d.equals(before.Sync.ComparedTo, before.Sync.Revision, before.Sync.Revisions)`, ``),
		take("A5", revision, newest, `slices.ContainsFunc(a.Ran, func(s Source) bool { return slices.Contains(in.Target.Wanted, s) })`).and(outdated, skipped, `true || wanted == nil {`),
		take("Skipped", outdated, skipped, `wanted == nil || in.Target.Operation.Pinned {`),
		take("A6", revision, newest, `a.ReconciledAt.After(in.Target.ReconciledAt)`).and(outdated, skipped,
			`wanted == nil || in.Target.Operation.Pinned {`),
		take("WentBack", revision, newest, `in.History.Past(a.Name).Freshness >= Fresh`).and(outdated, skipped,
			`wanted == nil || in.Target.Operation.Pinned {`),
		take("ComparedBack", revision, `!slices.ContainsFunc(done[:at], compared)`, `(true || compared(done[at]))`),
		take("RunsBack", revision, `!slices.ContainsFunc(done[at+1:], runs)`, `(true || runs(done[at]))`),
		take("WantsBack", revision, `slices.Contains(in.Target.Ran, w) && !in.Target.runs(w) })`,
			`false && !in.Target.runs(w) })`),
		take("RanBack", revision, `!slices.ContainsFunc(a.Compared, ran)`, `(true || ran(Source{}))`),
		take("A7", completed, `(in.pendingElsewhere(a) || in.behind) && in.History.Past(a.Name).Freshness < Fresh`,
			`in.History.Past(a.Name).Freshness < Fresh && in.pendingElsewhere(a) && len(in.Target.Wanted) == 0`),
		lacks("A8", completed, "unhydrated"),
		lacks("Uncompared", completed, "comparedUnhydrated"),
		take("HydratedFrom", target, ` && hydratedFrom(spec, &before.SourceHydrator)`, ``),
		take("Unseen", deployed, `if r == nil || !r.operatedAt.Equal(operatedAt) {`, `if r == nil {`),
		take("Unforgotten", "webhook/argocd/stamp.go", `s.Last = last`, `_ = last`),
		take("Settling", generated, `if until := in.settled(); d.Step > 0 && in.Now.Before(until) {`,
			`if until := in.settled(); d.Step < 0 && in.Now.Before(until) {`),
		take("Joined", generated, `last := in.History.Joined`, `var last time.Time`),
		take("Respecified", generated, `latest(last, in.History.Respecified)`, `latest(last)`,
			`latest(last, in.History.ContentSince)`, `latest(last)`),
		take("PassEnded", histories, `newer(f.endedAt, o.ContentVersion())`, `f.endedAt != ""`,
			`(f.respecifiedAt == "" || newer(f.endedAt, f.respecifiedAt))`, `true`),
		take("AroundSince", generated, `latest(last, in.History.AroundSince)`, `latest(last)`),
		take("PassWatched", histories, `newer(s.versions[o.owner.Namespace], f.endedAt)`, `true`),
		take("Failing", generated, `in.ApplicationSet.Failing == "" ||`, `true ||`),
		take("FailingStep", generated, ` || in.ApplicationSet.FailingStep >= d.Step`, ``),
		take("Around", "webhook/argocd/content.go", `return digest(parts)`, `return digest(parts.Destination)`),
		take("Unproven", revision, `in.History.Unproven && in.Settings.Stamped`, `false`),
		take("A9", drift, `in.alteredSince(a) || a.LastSync`, `a.LastSync`),
		take("A10", completed, `(in.pendingElsewhere(a) || in.behind) && in.History.Past(a.Name).Freshness < Fresh`,
			`in.pendingElsewhere(a) && a.ReconciledAt.Before(in.ApplicationSet.Recorded[in.Target.Name].TransitionedAt)`),
		take("ChangedBehind", completed, `(in.pendingElsewhere(a) || in.behind)`, `in.pendingElsewhere(a)`),
		take("LeftStep", evaluate, `return max(step, seen)`, `return step`),
		take("MovedFrom", "policy/blockers.go", ` && (s.Step < step || in.History.Past(s.Name).Step != s.Step+1)`, ``),
		take("MovedTo", evaluate, `if step < 0 || seen < 0 {`, `if true {`),
		take("B1", evaluate, `step >= 0 && step == recorded`, `false`),
		take("Hold", way, `if way.Input.Settings.Bypassed || !machine && !argocd.Outdates(w.App, w.Old) {`,
			`if true || machine && !argocd.Outdates(w.App, w.Old) {`),
		take("Release", "cmd/simulation/stepgate.go", `Release: true`, `Release: false`,
			`if r.reconcileAt[f] > 0 && r.reconcileAt[f] <= at {`, `if r != nil {`),
		take("Idle", release, `append(append(l.wanted, r.needed(d, found.Best.Sources, p)...), idle(d, l.byName)...)`,
			`append(l.wanted, r.needed(d, found.Best.Sources, p)...)`),
		take("Slots", "webhook/release/slots.go", `return len(taken) < others.Most`, `return true`),
		take("Unrecorded", release, `if l.Settings.Mode == settings.Enforce && set.RollingSync && unrecorded(p, &set.ApplicationSet) {`,
			`if false && unrecorded(p, &set.ApplicationSet) {`),
		take("Refresh", need, `if b.Ends != policy.NoComparison && b.Step <= last {`,
			`if false && b.Step <= last {`),
		take("RefreshUnpolled", need, `b.Ends != policy.NoComparison && b.Step`, `b.Ends.Stale() && b.Step`),
		take("FailedUnpolled", operation, `ends: AnotherRevision`, `ends: NoComparison`),
		take("B3", drift, `(since && recorded.healthyAt(a.Compared) && !a.hasLeft() ||`, `(since && false ||`),

		take("Completed", done, `in.completed(a) && in.sees(a)`, `len(a.Ran) > 0 && in.sees(a)`),
		take("TrainChanged", done, ` && (len(in.Target.Ran) == 0 || !in.changed() || in.completedSinceChange(a))`, ``),
		take("ByPosition", revision, `if len(as) == len(bs) {`, `if len(as) < 0 {`),
		take("Carried", "webhook/argocd/stamp.go", `if last != nil && (!isFull(app.Operation.Operation) || last.failed()) {`, `if last != nil && last.failed() && isFull(app.Operation.Operation) {`),
		take("LocalIsFull", "webhook/argocd/stamp.go", ` && len(op.Sync.Manifests) == 0`, ``),
		take("PartIsFull", "webhook/argocd/stamp.go", ` && len(op.Sync.Resources) == 0 &&`, ` &&`),
		take("DryRunIsFull", "webhook/argocd/stamp.go", ` && !op.Sync.DryRun &&`, ` &&`),
		take("StampRead", "webhook/argocd/operated.go", `return o.Content }`, `return Content{} }`),
		take("Within", "webhook/slots/slot.go", `if s.Track != "" && (seen.Relabelled`, `if s.Track == "*" && (seen.Relabelled`),
		take("WentForward", "webhook/outlook/stays.go", `return !p.AutoSync && !p.ByHand.IsZero()`, `return false && !p.ByHand.IsZero()`),
		take("TakeBack", completions, `len(to) == 0 || len(r.completions) == 0`, `len(to) >= 0 || len(r.completions) == 0`),
		take("ComparedFirst", completions, `return first >= 0 && first < r.ordered(b)`, `return false && first < r.ordered(b)`),
		take("Track", "policy/track.go", `a[key] == "" || b[key] == "" || a[key] == b[key]`, `false`),
		take("SameSources", revision, `changed || !in.Target.runs(w)`, `!in.Target.runs(w)`),
		take("FailedHook", operation, `return last.AtCompared || applied`, `return last.AtCompared || applied && false`),
		take("AppliedBefore", operation,
			`applied := last.Applied || !last.StartedAt.IsZero() && last.StartedAt.Equal(in.History.Past(a.Name).Applied)`,
			`applied := last.Applied`),
		take("RanOther", again, `inTurn && !in.ranOther()`, `inTurn`),
		take("Mended", again, `return t.OutOfSyncSince || len`, `return len`),
		take("RollbackDestination", "policy/reason_rollback.go", ` && !in.altered()`, ``),
		take("Parameters", "webhook/history/record.go", `r.fingerprint == fingerprint && slices.Equal`, `slices.Equal`),
		take("SameSecond", drift, `since := a.LastSync.FinishedAt.Before(recorded.TransitionedAt) && a.LastOperation.FinishedAt.Before(recorded.TransitionedAt)`,
			`since := !a.LastSync.FinishedAt.After(recorded.TransitionedAt) && !a.LastOperation.FinishedAt.After(recorded.TransitionedAt)`),
		take("Patched", drift, `!a.LastFull.Patched || `, `true || `),
		take("HasLeft", "policy/drift.go", `&& !a.hasLeft()`, ``),
		take("Position", "webhook/history/completions.go", `r.position(app, done.Sources), done)`, `len(r.completions), done)`),
		take("Unrevised", "webhook/argocd/content.go", `if len(revisions) == 0 || slices.Contains(revisions, "") {`, `if slices.Contains(revisions, "?") {`),
		take("PartAgain", "webhook/argocd/stamp.go", `!part.manifests && !o.failed()`, `false && !part.manifests && !o.failed()`),
		take("SeenSynced", drift, `|| ever && completed.OperatedAt`, `|| ever && false && completed.OperatedAt`),
		take("ClusterLag", deployed, `app.ReconciledAt.Sub(ended) > policy.ClusterLag`, `app.ReconciledAt.After(ended)`),
	}
}

// ofRows are the rows of the rule.
func ofRows() []part {
	return []part{
		take("SpecOfTarget", "policy/reason_content_unknown.go", `in.foreign(step) || !in.Target.SpecCompared`, `in.foreign(step)`),
		row("NotPinned", "notPinned"),
		take("TargetOutdated", outdated, `if detail, ok := in.targetOutdated(d.Step); ok {`,
			`if detail, ok := in.targetOutdated(0); ok {`),
		take("NotCreated", "policy/blockers.go", `found := in.missing(step)`, `found := in.missing(0)`),
		row("OperationInProgress", "operationInProgress"),
		lacks("NeverCompared", healthy, "neverCompared"),
		lacks("NotHealthy", healthy, "unhealthy"),
		lacks("SpecNotCompared", completed, "respecified"),
		take("HealthStale", completed, `case last.FinishedAt.After(a.ReconciledAt):`, `case false:`),
		take("HealthStaleSameSecond", completed,
			`case a.Unseen():`, `case false:`),
		take("UnseenSync", lag, `!a.LastSync.ShownBy(a.ReconciledAt)`, `sameSecond(a.LastSync.FinishedAt, a.ReconciledAt)`),
		take("HealthStaleOtherRevision", completed,
			`case !last.AtCompared && sameSecond(last.FinishedAt, a.ReconciledAt):`, `case false:`),
		lacks("NotSynced", completed, "outOfSync"),
		row("OperationFailed", "operationFailed"),
		lacks("RevisionMismatch", completed, "elsewhere"),
	}
}
