// SPDX-License-Identifier: Apache-2.0

package policy

// OperationFailed means that the last sync of the sibling failed.
const OperationFailed Reason = "OperationFailed"

var operationFailed = blocking{
	row: row{
		reason: OperationFailed,
		means: "It is Healthy and Synced, but its last full sync of this revision ended Failed or Error, for " +
			"example because a hook failed.",
		do:    "sync it again. `--allow-failed-operations` switches this reason off.",
		level: RequireRevision,
		when: "its last full operation ended Failed or Error, at the compared revision or after an attempt came to " +
			"the PostSync hooks (not with `--allow-failed-operations`)",
		short: "its last sync failed",
		next:  "sync APP again: argocd app sync APP",
	},
	lacks: []lack{{
		ends: AnotherRevision,
		holds: func(in *Input, a *Application) (detail string, ok bool) {
			if in.Settings.AllowFailedOperations || !in.failed(a) {
				return "", false
			}
			return clean(a.LastFull.Phase), true
		},
	}},
}

// failed reports whether the last full sync failed, and that still counts. It does until something else is deployed:
// while the revision that it ran is compared, and after that, too, if it applied everything and only a hook failed. A
// newer commit that does not touch the Application changes nothing about that. If less was applied, and the Application
// is Synced at another revision, then the commit was taken back.
func (in *Input) failed(a *Application) bool {
	last := &a.LastFull
	if !last.failed() {
		return false
	}
	applied := last.Applied || !last.StartedAt.IsZero() && last.StartedAt.Equal(in.History.Past(a.Name).Applied)
	return last.AtCompared || applied
}

// failed reports whether it has failed.
func (last *FullSync) failed() bool { return last.Phase == "Failed" || last.Phase == "Error" }
