package policy

import "time"

// HealthStale means that the status is from before the last operation. It would clear by itself, but the ApplicationSet
// controller does not wake up for a comparison that finds nothing new. A refresh wakes it.
const HealthStale Reason = "HealthStale"

var healthStale = blocking{
	row: row{
		reason: HealthStale,
		level:  RequireRevision,
		when: "it was compared before its last full operation finished, or, at another revision, in the same second; or it " +
			"was found OutOfSync within 5 s of the sync of what it is compared with",
		short: "its status is older than its last sync",
		stale: true,
		next:  "wait until Argo CD has compared APP",
	},
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

// ClusterLag is how long after an operation Argo CD may compare with what it saw of the cluster before. Usually that is a
// fraction of a second. A comparison that finds an Application Synced with what was deployed has seen it.
const ClusterLag = 5 * time.Second

// ShownAfter is the second that a comparison has to be later than, so that it shows what the sync has changed in the
// cluster although it finds the Application OutOfSync.
func (s *LastSync) ShownAfter() time.Time { return s.FinishedAt.Add(ClusterLag) }

// ShownBy reports whether a comparison of that time shows, even where it finds the Application OutOfSync, what the sync
// has changed in the cluster.
func (s *LastSync) ShownBy(comparedAt time.Time) bool { return comparedAt.After(s.ShownAfter()) }

// Unseen reports whether Argo CD may not have seen yet what the last sync has changed in the cluster: it finds the
// Application OutOfSync with what that has deployed, soon after.
func (a *Application) Unseen() bool {
	return a.SyncStatus != "Synced" && a.LastSync.AtCompared && !a.LastSync.ShownBy(a.ReconciledAt)
}

// sameSecond compares at the resolution of Argo CD's times.
func sameSecond(a, b time.Time) bool {
	return !a.IsZero() && a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}
