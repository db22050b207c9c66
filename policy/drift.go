// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// drifted reports whether an OutOfSync Application has deployed the very thing that it was compared with: somebody has
// changed the cluster since. That does not hold the rollout up. From argo-cd v3.3 on the ApplicationSet controller
// would never sync it again, and blocking on it would last for ever.
//
// It has deployed a revision if its last sync did, or if it was Synced there without a sync, because the commit did not
// touch it: that was seen, or the ApplicationSet controller has recorded it as Healthy at that revision in a later
// second than the one of its last operation. The two times are of different clocks. So the record does not count for
// an Application whose history has the revision, and another one after it: somebody has rolled it back. A new
// destination is no drift, nor is what a failed sync has left, nor what somebody has patched to be Healthy.
func (in *Input) drifted(a *Application) bool {
	if a.SyncStatus != "OutOfSync" || in.alteredSince(a) || a.LastSync.FinishedAt.IsZero() ||
		a.LastFull.failed() && !a.LastFull.AtCompared ||
		!a.ReconciledAt.After(a.LastSync.FinishedAt) {
		return false
	}
	recorded := in.ApplicationSet.Recorded[a.Name]
	since := a.LastSync.FinishedAt.Before(recorded.TransitionedAt) &&
		a.LastOperation.FinishedAt.Before(recorded.TransitionedAt)
	completed, ever := in.completedCompared(a)
	return a.LastSync.AtCompared && (!a.LastFull.Patched || ever) || a.LastSync.SameSources &&
		(since && recorded.healthyAt(a.Compared) && !a.hasLeft() ||
			ever && completed.OperatedAt.Equal(a.LastOperation.StartedAt))
}

// hasLeft reports whether an Application has run what it is compared with, and something else since.
func (a *Application) hasLeft() bool {
	return slices.ContainsFunc(a.Compared, func(s Source) bool {
		since, ran := s.after(a.Ran)
		return ran && slices.ContainsFunc(since, func(other Source) bool { return other.Key == s.Key })
	})
}

// leftOutOfSync reports whether an OutOfSync Application counts as done because its owner leaves it so: nothing is left
// of what it was compared with but to prune, or its last sync deployed that.
func (in *Input) leftOutOfSync(a *Application) bool {
	return in.Settings.Require == RequireCompleted && a.SyncStatus == "OutOfSync" &&
		!in.alteredSince(a) &&
		(a.LastSync.AtCompared || a.LastSync.SameSources && a.OnlyPruning)
}

// completedCompared is what the Application has completed of just what it is compared with, if it has.
func (in *Input) completedCompared(a *Application) (c Completion, ever bool) {
	done := in.History.Past(a.Name).Completions
	at := slices.IndexFunc(done, func(c Completion) bool { return !c.Doubted && slices.Equal(c.Sources, a.Compared) })
	if at < 0 {
		return c, false
	}
	return done[at], true
}
