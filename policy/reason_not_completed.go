// SPDX-License-Identifier: Apache-2.0

package policy

// NotCompleted means that nothing shows that an Application of an earlier step has completed exactly what the target is
// about to deploy. The detail says what is missing.
const NotCompleted Reason = "NotCompleted"

var notCompleted = blocking{
	row: row{
		reason: NotCompleted,
		means: "It has not completed exactly what the sync would deploy, as far as Argo CD has compared it. The " +
			"detail says what is missing.",
		do: "what the text says after \"Next\". Usually that is nothing, because Argo CD compares again, and " +
			"stepgate has it [refreshed](#released-syncs).",
		level: RequireRevision,
		when:  "no comparison shows that it has completed what the target deploys:",
		short: "it has not completed what is about to be deployed, for all that Argo CD has compared",
		next:  "see the detail: wait, refresh or sync APP",
	},
	lacks: []lack{
		unhydrated, comparedUnhydrated, notComparable, respecified, comparedEarlier, notPruned, outOfSync,
		elsewhere, notFresh,
	},
}

// RefreshIt is the way out of a comparison that is too old.
const RefreshIt = "refresh APP: argocd app get APP --refresh"

// unhydrated says that the source hydrator is not at the end of its work.
var unhydrated = lack{
	when: "its hydrator runs, has failed, or has not begun with the new dry source",
	next: "wait until the source hydrator has hydrated APP, or read its status.sourceHydrator",
	ends: AnotherRevision,
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		switch a.Hydration {
		case "Hydrating", "Failed", Outdated:
			return "hydration: " + clean(a.Hydration), true
		}
		return "", false
	},
}

var comparedUnhydrated = lack{
	when: "it was hydrated to another revision than the compared one, not before `reconciledAt`",
	next: RefreshIt,
	ends: CompareAgain,
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		return "compared before it was hydrated", a.Hydration == Uncompared
	},
}

// notComparable says that the last comparison failed.
var notComparable = lack{
	when: "its sync status is empty or Unknown",
	next: "read the conditions of APP",
	ends: AnotherRevision,
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		return "Argo CD cannot compare it", a.SyncStatus == "" || a.SyncStatus == "Unknown"
	},
}

// respecified says that the last comparison is older than the spec.
var respecified = lack{
	when: "`comparedTo` is not its `spec` (sources, destination, `ignoreDifferences`), by Argo CD's Equals",
	next: RefreshIt,
	ends: CompareAgain,
	holds: func(in *Input, a *Application) (detail string, ok bool) {
		return "its spec has changed since it was compared",
			!a.SpecCompared || a.Reported && in.History.Past(a.Name).Respecified
	},
}

// comparedEarlier says that the status is from before the last operation. That would clear by itself, but the
// ApplicationSet controller does not wake up for a comparison that finds nothing new. A refresh wakes it.
var comparedEarlier = lack{
	when: "it was compared before its last full operation ended, or, at another revision, in that second; or was found " +
		"OutOfSync within 5 s of the sync of what it is compared with",
	next: "wait until Argo CD has compared APP",
	ends: CompareSettled,
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		last := &a.LastFull
		switch {
		case last.FinishedAt.After(a.ReconciledAt):
			return "compared before its last operation ended", true
		case a.Unseen():
			return "found OutOfSync within 5 s of its last sync, and not compared since", true
		case !last.AtCompared && sameSecond(last.FinishedAt, a.ReconciledAt):
			return "compared in the second in which its last operation ended", true
		}
		return "", false
	},
}

// notPruned is outOfSync of an Application that Argo CD need not sync.
var notPruned = lack{
	next: "prune it: argocd app sync APP --prune; if it is OutOfSync on purpose, set the annotation " +
		"stepgate.io/require: completed",
	ends: AnotherRevision,
	holds: func(in *Input, a *Application) (detail string, ok bool) {
		if !a.OnlyPruning {
			return "", false
		}
		detail, ok = outOfSync.holds(in, a)
		return detail + ", only pruning is left", ok
	},
}

// outOfSync says that the Application has not deployed what it is compared with.
var outOfSync = lack{
	when: "it is not Synced, and this is not drift, nor on purpose (level `completed`)",
	next: "sync APP first: argocd app sync APP",
	ends: AnotherRevision,
	holds: func(in *Input, a *Application) (detail string, ok bool) {
		if a.SyncStatus == "Synced" || in.drifted(a) || in.leftOutOfSync(a) {
			return "", false
		}
		return clean(a.SyncStatus), true
	},
}

// elsewhere says that the Application was compared with another revision than the target deploys.
var elsewhere = lack{
	when: "it shares a source with the target, was compared at another revision, and has not gone on from that of the " +
		"target",
	next: RefreshIt,
	ends: CompareAgain,
	holds: func(in *Input, a *Application) (detail string, ok bool) {
		at, wanted := in.mismatched(a.Compared)
		if wanted == nil || in.goneOn(a) {
			return "", false
		}
		return "compared to " + Short(at.Revision) + ", not " + oneOf(wanted, at.Key), true
	},
}

// notFresh says that nothing shows a comparison of the Application since the change to the target.
var notFresh = lack{
	when: "it is not fresh, and the target deploys a change in a source that it does not have, or other sources than " +
		"it runs at another revision than it was compared with",
	next: RefreshIt,
	ends: CompareAgain,
	holds: func(in *Input, a *Application) (detail string, ok bool) {
		if (in.pendingElsewhere(a) || in.behind) && in.History.Past(a.Name).Freshness < Fresh {
			return changeUnseen(in.Target.Name), true
		}
		return "", false
	},
}

// ChangeUnseen begins the detail of what is not fresh: who knows more of the past may know better.
const ChangeUnseen = "not known to be compared since the change"

// changeUnseen is what the detail says of the change to a target.
func changeUnseen(target string) string { return ChangeUnseen + " to " + clean(target) + " was seen" }
